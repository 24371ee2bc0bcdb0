"""The recorded story."""
