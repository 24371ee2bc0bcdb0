"""Bringing artifacts into an operator-made claim, once: the Job, its program, and what both show. Pure but for that."""
