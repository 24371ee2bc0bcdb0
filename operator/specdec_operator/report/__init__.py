"""From a decision to status, conditions, Events and metrics. Pure."""
