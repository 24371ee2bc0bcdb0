"""The Kubernetes API: one client, and what may be asked of it."""
