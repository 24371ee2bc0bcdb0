"""What a release's workflow asks of the repository: standard library only, for it runs before anything is installed."""
