"""Every mix of artifacts on the real KServe, as `make matrix` recorded it, and the page docs/staging.md about it."""
