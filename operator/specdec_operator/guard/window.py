"""One window of evidence: what each pod's counters did between its first and its last reading.

Windows do not overlap: overlapping ones are not independent evidence. A window keeps two readings a pod, not a series.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from specdec_operator.guard.counters import Counters, restarted


@dataclass(frozen=True, slots=True, kw_only=True)
class PodWindow:
    """What one pod showed in a window.

    longest_gap: longest time without a reading, in seconds. restarted: the counters began anew inside the window.
    """

    first: Counters
    last: Counters
    last_at: float
    longest_gap: float = 0.0
    restarted: bool = False

    def extended(self, reading: Counters, at: float) -> "PodWindow":
        """This window with one more reading."""
        return replace(
            self,
            last=reading,
            last_at=at,
            longest_gap=max(self.longest_gap, at - self.last_at),
            restarted=self.restarted or restarted(self.last, reading),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """An open window. `unread` names pods that were asked and never answered."""

    opened: float
    pods: Mapping[str, PodWindow] = field(default_factory=dict)
    unread: frozenset[str] = frozenset()

    def with_readings(self, readings: Mapping[str, Counters | None], at: float) -> "Window":
        """This window with one round of readings; None stands for a pod that did not answer."""
        pods = dict(self.pods)
        for pod, reading in readings.items():
            if reading is None:
                continue
            known = pods.get(pod)
            pods[pod] = (
                PodWindow(first=reading, last=reading, last_at=at) if known is None else known.extended(reading, at)
            )
        silent = {pod for pod, reading in readings.items() if reading is None} | self.unread
        return replace(self, pods=pods, unread=frozenset(silent - set(pods)))

    def next(self, at: float, alive: frozenset[str]) -> "Window":
        """The window that follows. It starts from the last readings, so nothing between the two is lost."""
        kept = {
            pod: PodWindow(first=window.last, last=window.last, last_at=window.last_at)
            for pod, window in self.pods.items()
            if pod in alive
        }
        return Window(opened=at, pods=kept)


def opened(at: float) -> Window:
    """An empty window."""
    return Window(opened=at)
