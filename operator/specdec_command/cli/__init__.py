"""`specdec`: what a user runs at home and in CI. Reading and judging are pure; only main touches files."""
