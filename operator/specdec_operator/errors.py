"""The operator's errors, by who has to act.

OperatorError
├── Invalid        the user must change the service: Stalled=True, no retry before a new generation
└── Unavailable    the world must change (API server, network): retried with back-off
    └── TooLarge   an answer has more bytes than are read
"""

from typing import Final

UNANSWERED: Final = "ApiServerUnavailable"
"""Reason of a request that the API server did not answer."""


class OperatorError(Exception):
    """What went wrong, as a CamelCase reason and one sentence."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message


class Invalid(OperatorError):
    """The service asks for something that cannot run. The message names field, value, rule and way out."""

    def __init__(self, field: str, value: object, rule: str, *, reason: str = "InvalidSpec") -> None:
        super().__init__(reason, f"{field}: {value!r}: {rule}")
        self.field = field
        self.value = value
        self.rule = rule


class Unavailable(OperatorError):
    """Something that the operator needs does not answer now. after: seconds for which it asked not to be asked.

    status: HTTP's, if an answer was the reason; else 0.
    """

    def __init__(self, reason: str, message: str, *, after: float = 0.0, status: int = 0) -> None:
        super().__init__(reason, message)
        self.after = after
        self.status = status


class TooLarge(Unavailable):
    """An answer has more bytes than are read. size: all of its bytes, of which none was kept."""

    def __init__(self, what: str, size: int, most: int) -> None:
        super().__init__("TooLarge", f"{what} has {size} bytes as JSON, and the operator reads at most {most}")
        self.size = size
