"""Where the artifacts come from and where the engine finds them. Pure."""
