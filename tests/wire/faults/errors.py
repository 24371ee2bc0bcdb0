"""Rules that answer the operator's requests with errors: each kind of request once, a share of all, or all of them."""

import random
from http import HTTPStatus
from typing import Final

from tests.wire.faults.deeds import Asked, Deed, Drop, Pass, Refuse
from tests.wire.faults.points import write

ERRORS: Final[dict[str, Deed]] = {
    "409": Refuse(status=409),
    "429 with Retry-After": Refuse(status=429, retry_after=1),
    "500": Refuse(status=500),
    "503": Refuse(status=503),
    "reset before": Drop(),
    "reset after": Drop(done=True),
}
"""What a request can meet; before and after: the API server has made the write."""


def kind(asked: Asked) -> str:
    """What a request is: a write by its name, or a read, a list or a watch of a resource."""
    if asked.writes:
        return write(asked)
    return f"{'watch' if asked.watch else 'get'} {asked.path}"


def _can_meet(asked: Asked, error: Deed) -> bool:
    """Whether an API server answers such a request so: a conflict is for writes to objects that others write to."""
    conflict = isinstance(error, Refuse) and error.status == HTTPStatus.CONFLICT
    return bool(asked.what) and (not conflict or (asked.writes and asked.what != "events"))


class EachOnce:
    """Lets the first request of every kind meet an error. met: the kinds that did."""

    def __init__(self, error: Deed) -> None:
        self._error = error
        self.met: list[str] = []

    def __call__(self, asked: Asked) -> Deed:
        named = kind(asked)
        if named in self.met or not _can_meet(asked, self._error):
            return Pass()
        self.met.append(named)
        return self._error


class Some:
    """Lets a share of all requests meet an error that a seed picks, or come late. met: how many did."""

    def __init__(self, seed: int, share: float) -> None:
        self._random = random.Random(seed)  # noqa: S311 - makes a run repeatable, guards nothing
        self._share = share
        self.met = 0

    def __call__(self, asked: Asked) -> Deed:
        error = self._random.choice([*ERRORS.values(), Pass(after=1.0)])
        if self._random.random() > self._share or not _can_meet(asked, error):
            return Pass()
        self.met += 1
        return error
