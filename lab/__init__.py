"""Experiments: the guard's simulation, benchmarks, and the tables of a new engine. Nothing that is shipped needs it."""
