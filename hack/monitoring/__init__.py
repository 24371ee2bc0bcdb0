"""Alerts, recording rules and dashboards from code: one source for plain Prometheus, its operator and Helm."""
