"""A read-only page for browsers. From frozen values to HTML is pure; only server.py listens."""
