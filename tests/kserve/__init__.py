"""Tests against the real KServe, with its webhooks, beside a real API server and the real controllers of Kubernetes."""
