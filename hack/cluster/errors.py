"""The one error of this package: a sentence for the person at the terminal, never a stack trace."""


class ClusterError(RuntimeError):
    """The message has the problem, its place and the fix."""
