"""actionlint, built from a pinned module: it reads the workflow files that cannot be run here."""
