"""A real Prometheus server for tests: Debian's program, unpacked into the cache and not installed."""
