"""`make demo`: the whole story on a real cluster. Its numbers are measured while it runs."""
