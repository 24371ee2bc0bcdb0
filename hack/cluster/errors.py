"""The one error of this package: a sentence for the person at the terminal, never a stack trace."""


class ClusterError(RuntimeError):
    """Says what went wrong, where, and the way out."""
