"""Bringing artifacts into an operator-made PVC, once: the Job, its program, and what both show. The rest is pure."""
