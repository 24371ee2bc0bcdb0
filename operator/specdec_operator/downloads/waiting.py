"""What the downloads of a layout mean for the service: how far they are, and whether one of them has no hope left.

A draft without hope is what a rollout is rolled back for; a target without hope is the user's to mend.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from specdec_operator.downloads.view import JobView, Progress, Stand
from specdec_operator.staging.layout import Download

_ATTEMPTS: Final = 3
"""Failures in a row after which a download is taken to fail for good: over three minutes, by the back-off."""
_FINAL: Final = frozenset({"NotFound", "Unauthorized", "UnknownScheme", "Incomplete"})
"""Reasons that no second attempt mends by itself."""
_MIB: Final = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetch:
    """One download and its Job. failed: why the attempt before this one failed; empty where there was none."""

    download: Download
    view: JobView
    failed: str = ""
    progress: Progress | None = None

    @property
    def done(self) -> bool:
        """Whether the artifact is in the claim."""
        return self.view.stand is Stand.DONE

    @property
    def hopeless(self) -> bool:
        """Whether it has failed for good. It is tried again all the same, less and less often."""
        over = self.view.attempt - (0 if self.view.stand is Stand.FAILED else 1)
        why = self.view.reason if self.view.stand is Stand.FAILED else self.failed
        return not self.done and (over >= _ATTEMPTS or (over >= 1 and why in _FINAL))

    @property
    def words(self) -> str:
        """One sentence about it."""
        words = f"{self.download.name} {self.download.uri}: {self.view.message}"
        if self.progress is not None and self.view.stand is Stand.RUNNING:
            words += f", {self.progress.bytes / _MIB:.0f} MiB after {self.progress.seconds:.0f} s"
        return words + (f" (attempt {self.view.attempt})" if self.view.attempt > 1 else "")


def staged_at(fetches: Iterable[Fetch]) -> float | None:
    """When the last of them was done, in seconds since 1970; None while one is not."""
    moments = [each.view.finished or 0.0 if each.done else None for each in fetches]
    return None if None in moments else max((each for each in moments if each is not None), default=0.0)
