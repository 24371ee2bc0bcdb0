"""The API server's own checks without an API server: schema, CEL, documents."""
