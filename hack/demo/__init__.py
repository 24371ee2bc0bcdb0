"""`make demo`: the whole story on a real cluster, told with numbers that were measured while it was told."""
