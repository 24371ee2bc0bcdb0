"""Keeps speculative decoding on Kubernetes worth having: serves it, watches it, takes it out when it does not pay."""

__version__ = "0.1.0"
