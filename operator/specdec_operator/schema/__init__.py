"""The spec and the status as the API server holds them. Pure."""
