"""Experiments, and the pages of what they measured: the guard's simulation, benchmarks, recordings, and the tables of a
new engine. Nothing that is shipped needs it.
"""
