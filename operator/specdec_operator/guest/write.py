"""What became of the last write of a guest, and when the next one is due. Pure.

A write counts once it was read back. The API server, a webhook or a policy may refuse it, a webhook may undo it on its
way, and another client may undo it later. Each is reported, and tried again after a pause of its own: without one, the
same refusal came every five seconds, and no status showed it.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from specdec_operator.api.canonical import digest_of
from specdec_operator.api.times import to_time
from specdec_operator.errors import Invalid, OperatorError, Unavailable
from specdec_operator.guest.enforcement import Enforcement
from specdec_operator.guest.patch import Patch

REFUSED: Final = "WriteRefused"
CHANGED: Final = "WriteChanged"
SOON: Final = 5.0
"""Seconds after which a guest is written again at first: what refused it may be over."""
_CONFLICT: Final = "Conflict"
_LONGEST_CONFLICT: Final = 60.0
_PAUSES: Final[Mapping[str, float]] = {"QuotaExceeded": 30.0, "Forbidden": 60.0, "NamespaceTerminating": 60.0}
_LONG: Final = 300.0
"""Seconds between two tries of what only a person can mend, such as a policy."""
_QUICK: Final = 2
"""Failures in a row after which the pauses are long."""
_OTHER_VERSION: Final = re.compile(r"due to an error in our request|has been modified|a test in the patch failed")
"""The API server's messages about a JSON patch of which a test does not hold: the object has changed since."""
_UNDONE: Final = (
    "the API server accepts the change, and its answer is without it: an admission webhook or a policy undoes it; let "
    "it leave command and args of this object alone"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedWrite:
    """A write that failed. digest: of what was to be written. cause: the kind of refusal, in a word; changed: whether
    the API server accepted it and something undid it at once. times: failures of this kind in a row; at: the last one.
    """

    digest: str
    cause: str
    message: str
    at: float
    changed: bool = False
    times: int = 1

    @property
    def due(self) -> float:
        """When it is tried again, epoch seconds: twice soon, then after a pause that its cause decides."""
        return self.at + (SOON if self.times < _QUICK else self._pause)

    @property
    def _pause(self) -> float:
        if self.cause == _CONFLICT:
            return float(min(_LONGEST_CONFLICT, SOON * 2 ** min(self.times - 1, 4)))
        return _PAUSES.get(self.cause, _LONG)

    @property
    def is_told(self) -> bool:
        """Whether it is reported. An owner who writes at the same moment does so once, and the next try succeeds."""
        return self.cause != _CONFLICT or self.times >= _QUICK

    @property
    def reason(self) -> str:
        """Of the condition and the Event."""
        return CHANGED if self.changed else REFUSED

    @property
    def words(self) -> str:
        """The message, with the number of tries and the time of the next one."""
        return f"{self.message}; failed {self.times} times; the next try is at {to_time(self.due)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class GuestWrites:
    """What is kept of the writes of a guest. failed: the last one, if it failed. version: of the object from which the
    guard removed the flag, as the API server answered; 0: it did not, or another process did. release_due: when the
    guard may next give up its fields, epoch seconds.
    """

    failed: FailedWrite | None = None
    version: int = 0
    release_due: float = 0.0

    def is_due(self, digest: str, now: float) -> bool:
        """Whether something may be written now. Another write than the one that failed is not late."""
        return self.failed is None or self.failed.digest != digest or now >= self.failed.due


def digest_of_patch(changes: Patch) -> str:
    """Identifies what a patch writes, at whatever version of the object."""
    return digest_of([each for each in changes if each["op"] != "test"])


def refusal_of(error: OperatorError, digest: str, now: float) -> FailedWrite | None:
    """The failure that an error stands for; None for a server that does not answer now, which is not a refusal."""
    if isinstance(error, Invalid):
        cause = _CONFLICT if _OTHER_VERSION.search(error.rule) else error.reason
    elif isinstance(error, Unavailable) and error.status == 409:
        cause = _CONFLICT
    elif error.reason in ("Forbidden", "NamespaceTerminating", "AdmissionRefused", "QuotaExceeded"):
        cause = error.reason
    else:
        return None
    return FailedWrite(digest=digest, cause=cause, message=error.message, at=now)


def undone(digest: str, now: float) -> FailedWrite:
    """The failure of a write that was accepted and whose answer is without it."""
    return FailedWrite(digest=digest, cause=CHANGED, message=_UNDONE, at=now, changed=True)


def after(before: FailedWrite | None, failed: FailedWrite) -> FailedWrite:
    """The failure, counted with those before it of the same write and cause."""
    same = before is not None and (before.digest, before.cause) == (failed.digest, failed.cause)
    return replace(failed, times=before.times + 1) if same and before is not None else failed


def with_failure(allowed: Enforcement, failed: FailedWrite | None) -> Enforcement:
    """What may be done, with the failure of the write that is still to be done."""
    if failed is None or not failed.is_told:
        return allowed
    return replace(allowed, written=False, reason=failed.reason, message=failed.words)
