"""Readings go in, judged windows come out."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Final

from specdec_operator.guard.counters import Counters
from specdec_operator.guard.decisions import Probe
from specdec_operator.guard.gain import DipEvidence
from specdec_operator.guard.judge import Judged, judge
from specdec_operator.guard.policy import Thresholds
from specdec_operator.guard.stalls import Standstill, stalled
from specdec_operator.guard.state import Observation
from specdec_operator.guard.trial import MOST_TRAFFIC, Traffic, traffic_of
from specdec_operator.guard.window import FailingRun, Window

_BLOCKS: Final = 8
"""Blocks of time that a window is cut into at most; none is shorter than an interval."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """How often pods are read, and how long a window is; in seconds."""

    interval: float
    window: float

    @property
    def block(self) -> float:
        """Length of a block of time, in seconds."""
        return max(self.interval, self.window / _BLOCKS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampler:
    """What is kept from one reading to the next. row: of the failing windows in a row. baseline: the window of the
    baseline pods, once there are some. recent: the traffic of the last windows. dips: those of the windows so far.
    """

    window: Window
    due: float
    row: FailingRun = field(default_factory=FailingRun)
    baseline: Window | None = None
    recent: tuple[Traffic, ...] = ()
    dips: DipEvidence = field(default_factory=DipEvidence)

    def stalled(self, thresholds: Thresholds) -> dict[str, Standstill]:
        """The pods whose engine hangs."""
        return stalled(self.window.standstills, thresholds.longest_gap)

    def is_due(self, now: float) -> bool:
        """Whether the pods are to be read now. If the clock went back, they are read at once."""
        return now >= self.due or now < self.window.opened

    def closes(self, schedule: Schedule, now: float) -> bool:
        """Whether a reading now is the one nearest to the window's end, which closes it."""
        return now - self.window.opened >= schedule.window - schedule.interval / 2


def start(now: float, schedule: Schedule) -> Sampler:
    """Nothing seen yet."""
    return Sampler(window=Window(now, schedule.block), due=now)


def add(
    sampler: Sampler,
    readings: Mapping[str, Counters | None],
    thresholds: Thresholds,
    schedule: Schedule,
    now: float,
    baseline: Mapping[str, Counters | None] = MappingProxyType({}),
) -> tuple[Sampler, Judged | None]:
    """One round of readings, and the judged window if this round closed one. baseline: readings of the baseline
    pods.
    """
    if now < sampler.window.opened:
        sampler = start(now, schedule)
    due = max(sampler.due + schedule.interval, now)
    window, of_baseline = sampler.window.with_readings(readings, now), sampler.baseline
    if baseline or of_baseline is not None:
        of_baseline = (of_baseline or Window(sampler.window.opened, schedule.block)).with_readings(baseline, now)
    if not sampler.closes(schedule, now):
        return replace(sampler, window=window, due=due, baseline=of_baseline), None
    judged = judge(window, thresholds, now, sampler.row, of_baseline, sampler.dips)
    recent = (*sampler.recent, traffic_of(judged.evidence))[-MOST_TRAFFIC:]
    following = window.next(now, frozenset(readings))
    other = of_baseline.next(now, frozenset(baseline)) if of_baseline is not None and baseline else None
    after = Sampler(window=following, due=due, row=judged.row, baseline=other, recent=recent, dips=judged.dips)
    return after, replace(judged, recent=recent)


def with_window(observation: Observation, judged: Judged | None) -> Observation:
    """The observation with a newly closed window. A baseline window has no verdict on a draft."""
    if judged is None:
        return observation
    seen = judged.evidence
    return replace(
        observation,
        closed=judged.verdict.at,
        verdict=judged.verdict if observation.speculating else None,
        token_times=seen.token_times,
        lost=judged.lost,
        probe=Probe(drafted=seen.draft_tokens, accepted=seen.accepted_tokens, drafts=seen.drafts),
        in_row=judged.row.windows,
        pair=judged.pair,
        findings=judged.findings,
        comparison=judged.comparison,
        recent=judged.recent,
        dips=judged.gain is not None,
        off_cost=judged.off_cost,
        baseline_steps=judged.baseline_steps,
    )
