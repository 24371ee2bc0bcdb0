"""How long pods are unavailable because their engines fail, in a day: until they are ready again, reload included.

A count an hour does not show an engine that dies every forty minutes and loads for ten. Only what the API server shows
of the pods counts. A time for which it shows nothing is not an outage, such as that of an operator that did not run.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Final

from specdec_operator.api.kept import Time, means
from specdec_operator.observe.pods import PodView

DAY: Final = 24 * 3600.0
_MOST_KEPT: Final = 36
_LONGEST: Final = 1800.0
"""Seconds after which the replacement of a pod is late for another reason than the load of its engine."""
_CLOCKS_DIFFER: Final = 60.0
"""Seconds by which the clock of a node may differ from the operator's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outage:
    """A time for which a pod was unavailable because its engine failed."""

    pod: str = field(metadata=means("Its name."))
    reason: str = field(metadata=means("OutOfMemory, EngineCrashed, NotReady or Stalled."))
    since: Time = field(metadata=means("When it began."))
    until: Time = field(default=0.0, metadata=means("When the pod was ready again; absent: not yet.", empty=False))
    answered: bool = field(default=False, metadata=means("Whether the guard has acted on it.", empty=False))

    def within_a_day(self, now: float) -> float:
        """Its seconds in the day before `now`."""
        return max(0.0, (self.until or now) - max(self.since, now - DAY))


@dataclass(frozen=True, slots=True, kw_only=True)
class PodTimes:
    """Pods by name. serving: since when they are ready, without those that hang. down: since when others are not.
    hanging: those whose engine hangs, which are ready too.
    """

    serving: Mapping[str, float] = field(default_factory=dict)
    down: Mapping[str, float] = field(default_factory=dict)
    hanging: frozenset[str] = frozenset()


def pod_times(pods: Iterable[PodView], hanging: frozenset[str], now: float) -> PodTimes:
    """The times of the pods of a revision. A time that is not known is now."""
    there = {pod.name: pod for pod in pods if not pod.deleting}
    since = {name: now if pod.ready_since is None else pod.ready_since for name, pod in there.items()}
    return PodTimes(
        serving={name: each for name, each in since.items() if there[name].ready and name not in hanging},
        down={name: each for name, each in since.items() if not there[name].ready},
        hanging=hanging & there.keys(),
    )


def noted_outages(
    known: tuple[Outage, ...], failed: Iterable[tuple[str, str]], times: PodTimes, most: int, now: float
) -> tuple[Outage, ...]:
    """The outages of a day, with those of new failures, each as pod and reason. A pod has one at a time. most: the
    largest number of pods that served at the same time.
    """
    kept = [part for each in known if now - (each.until or now) < DAY for part in _followed(each, times, most, now)]
    down = {each.pod for each in kept if not each.until}
    begun = (
        Outage(pod=pod, reason=reason, since=min(now, times.down.get(pod, now)))
        for pod, reason in failed
        if pod not in down
    )
    return (*kept, *(part for each in begun for part in _followed(each, times, most, now)))[-_MOST_KEPT:]


def _followed(outage: Outage, times: PodTimes, most: int, now: float) -> tuple[Outage, ...]:
    """An outage as it is now. Two if the pod was ready in between while no operator ran: the length of the first one is
    not known then, and counts as nothing. That of a pod that is gone ends when as many pods serve as before.
    """
    pod, since = outage.pod, outage.since
    if outage.until:
        return (outage,)
    if pod in times.serving:
        return (replace(outage, until=_between(since, times.serving[pod], now)),)
    if pod in times.down:
        again = min(now, times.down[pod])
        before = replace(outage, until=since)
        return (before, replace(outage, since=again)) if again > since + _CLOCKS_DIFFER else (outage,)
    if pod in times.hanging:
        return (outage,)
    if len(times.serving) >= most:
        return (replace(outage, until=_between(since, max(times.serving.values(), default=now), since + _LONGEST)),)
    return (replace(outage, until=since + _LONGEST),) if now - since >= _LONGEST else (outage,)


def _between(least: float, value: float, most: float) -> float:
    return max(least, min(value, most))


def downtime(outages: Iterable[Outage], pods: int, now: float) -> float:
    """Seconds of a day for which a pod was unavailable: of the pod with the most, or of all on average, which is more
    if pods that failed were replaced. Outages on which the guard has acted do not count.
    """
    counted = sorted((each for each in outages if not each.answered), key=lambda each: each.pod)
    by_pod = [sum(each.within_a_day(now) for each in group) for _, group in groupby(counted, lambda each: each.pod)]
    return max(*by_pod, sum(by_pod) / max(1, pods), 0.0)
