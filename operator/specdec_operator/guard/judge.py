"""Judges one closed window: each pod first, then all of them together; and the sampler, which readings go into and
judged windows come out of.

The checks are asked in order, and the first that has a verdict decides. Missing data comes first: nothing that follows
may be read into it. Then what fails, then what cannot be told.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from specdec_operator.guard import evidence as evidences
from specdec_operator.guard import window_checks as checks
from specdec_operator.guard.baseline import Comparison, compare
from specdec_operator.guard.counters import Counters
from specdec_operator.guard.evidence import Evidence
from specdec_operator.guard.policy import Thresholds
from specdec_operator.guard.statistics import RatioSums, TokenTimes, merge
from specdec_operator.guard.verdict import Outcome, Reason, Verdict
from specdec_operator.guard.window import Window
from specdec_operator.guard.window_checks import Case, Check, over, speedup_text, unsure

CHECKS: Final[tuple[Check, ...]] = (
    *(checks.unread, checks.restarted, checks.implausible, checks.no_traffic),
    *(checks.not_drafting, checks.acceptance_rate, checks.acceptance_length, checks.slower, checks.too_slow),
    *(checks.few_tokens, checks.not_significant, checks.not_compared, checks.rarely_drafts),
)
PLAIN_CHECKS: Final[tuple[Check, ...]] = (checks.unread, checks.restarted, checks.no_traffic, checks.too_slow)


def judge_case(case: Case) -> Verdict:
    """The verdict on one piece of evidence."""
    for check in PLAIN_CHECKS if case.thresholds.plain else CHECKS:
        if verdict := check(case):
            return verdict
    return _plain(case.evidence) if case.thresholds.plain else _passed(case)


def _plain(evidence: Evidence) -> Verdict:
    seconds = evidence.token_time.times.mean
    speed = "no request ended" if seconds is None else f"{1000 * seconds:.1f} ms per output token"
    message = f"plain: {speed} over {evidence.seconds:.0f} s, {evidence.generation_tokens:.0f} tokens"
    return unsure(Reason.PLAIN, message)


def _passed(case: Case) -> Verdict:
    evidence = case.evidence
    rate, length = evidence.acceptance_rate or 0.0, evidence.acceptance_length or 1.0
    speed = f", {speedup_text(case.comparison)}" if case.comparison else ""
    message = f"acceptance {rate:.2f}, {length:.2f} tokens per step{speed}{over(evidence)}"
    return Verdict(outcome=Outcome.PASS, reason=Reason.ACCEPTED, message=message)


_FAR_BELOW: Final = 0.8
"""Share of its siblings' acceptance below which a pod is another one than they are."""
_BY_ACCEPTANCE: Final = frozenset({Reason.ACCEPTANCE_RATE_LOW, Reason.ACCEPTANCE_LENGTH_LOW})


@dataclass(frozen=True, slots=True, kw_only=True)
class FailingRun:
    """What failing windows in a row showed together: accepted and drafted tokens, and times by load."""

    acceptance: RatioSums = field(default_factory=RatioSums)
    token_times: TokenTimes = field(default_factory=dict)

    def plus(self, evidence: Evidence) -> "FailingRun":
        """With one more window."""
        return FailingRun(
            acceptance=self.acceptance.merged(evidence.acceptance),
            token_times=merge(self.token_times, evidence.token_times),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A closed window: the verdict, the pooled evidence, how fast it was against plain.

    comparison: None where that is not known, and for a window of the plain service itself.
    row: all failing windows in a row, this one included; empty after any other.
    """

    verdict: Verdict
    evidence: Evidence
    comparison: Comparison | None
    row: FailingRun

    @property
    def conclusive(self) -> bool:
        """Whether the window proves something."""
        return self.verdict.outcome is not Outcome.INCONCLUSIVE


def judge(window: Window, thresholds: Thresholds, now: float, row: FailingRun | None = None) -> Judged:
    """The verdict on a window that closes at `now`. row: the failing windows before it.

    Each pod is judged before the pool: summed up, a broken pod and a good one would condemn both. Pods that were not
    read well, or that began anew, are left out as long as more than half of all are left.
    """
    parts = evidences.by_pod(window.closed(), now)
    gap = thresholds.longest_gap
    whole = {pod: part for pod, part in parts.items() if not part.restarted and part.longest_gap <= gap}
    most = 2 * len(whole) > len(parts) + len(window.unread)
    unread = 0 if most else len(window.unread)
    pool = evidences.pooled(whole if most else parts, seconds=now - window.opened, unread=unread)
    longer = (row or FailingRun()).plus(pool)
    case = _case(pool, thresholds, longer.token_times)
    verdict = replace(_skewed(parts, thresholds) or judge_case(case), at=now)
    return Judged(
        verdict=_settled(verdict, longer.acceptance, pool, thresholds),
        evidence=pool,
        comparison=None if thresholds.plain else case.comparison,
        row=longer if verdict.outcome is Outcome.FAIL else FailingRun(),
    )


def _case(evidence: Evidence, thresholds: Thresholds, token_times: TokenTimes) -> Case:
    comparison, longer = compare(thresholds.baseline, evidence.token_times), compare(thresholds.baseline, token_times)
    return Case(evidence=evidence, thresholds=thresholds, comparison=comparison, longer=longer)


def _skewed(parts: dict[str, Evidence], thresholds: Thresholds) -> Verdict | None:
    """PodSkew where some pods fail and others pass that are far better; the worst pod is named first."""
    if len(parts) < 2:
        return None
    verdicts = {pod: judge_case(_case(part, thresholds, part.token_times)) for pod, part in parts.items()}
    passing = {pod: parts[pod] for pod, verdict in verdicts.items() if verdict.outcome is Outcome.PASS}
    if not passing:
        return None
    good = evidences.pooled(passing, seconds=0, unread=0)
    failing = [pod for pod, verdict in verdicts.items() if verdict.outcome is Outcome.FAIL]
    blamed = sorted(
        (pod for pod in failing if _apart(verdicts[pod], parts[pod], good)),
        key=lambda pod: (parts[pod].acceptance_rate or 0.0, pod),
    )
    if not blamed:
        return None
    worst = verdicts[blamed[0]]
    rate = good.acceptance_rate or 0.0
    message = f"{blamed[0]} fails: {worst.message}; others pass: {', '.join(passing)}, acceptance {rate:.2f}"
    return Verdict(outcome=Outcome.FAIL, reason=Reason.POD_SKEW, message=message, pods=tuple(blamed))


def _apart(verdict: Verdict, evidence: Evidence, good: Evidence) -> bool:
    """Whether a failing pod is far from those that pass, and not just on the other side of a threshold."""
    if verdict.reason not in _BY_ACCEPTANCE:
        return True
    return (evidence.acceptance_rate or 0.0) < _FAR_BELOW * (good.acceptance_rate or 0.0)


def _settled(verdict: Verdict, row: RatioSums, pool: Evidence, thresholds: Thresholds) -> Verdict:
    """The verdict, unsettled while the scatter of all failing windows in a row could still explain it."""
    if verdict.reason not in _BY_ACCEPTANCE or row.mean is None:
        return verdict
    if verdict.reason is Reason.ACCEPTANCE_RATE_LOW:
        least = thresholds.acceptance_rate or 0.0
    else:  # a length of 1 + accepted / drafts, as a rate of the tokens that were drafted
        least = ((thresholds.acceptance_length or 1.0) - 1) * pool.drafts / pool.draft_tokens
    width = row.half_width()
    if width is not None and row.mean + width < least:
        return verdict
    bound = "unknown" if width is None else f"{row.mean + width:.2f}"
    message = f"{verdict.message}; the traffic comes in bursts, more windows are needed (their bound {bound})"
    return replace(verdict, message=message, settled=False)


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
    """What is remembered from one reading to the next. row: of the failing windows in a row."""

    window: Window
    due: float
    row: FailingRun = field(default_factory=FailingRun)

    def is_due(self, now: float) -> bool:
        """Whether the pods are to be read now. A clock that went back asks for a reading at once."""
        return now >= self.due or now < self.window.opened

    def closes(self, schedule: Schedule, now: float) -> bool:
        """Whether a reading now is the one nearest to the window's end, which closes it."""
        return now - self.window.opened >= schedule.window - schedule.interval / 2


def start(now: float, schedule: Schedule) -> Sampler:
    """Nothing seen yet."""
    return Sampler(window=Window(now, schedule.block), due=now)


def add(
    sampler: Sampler, readings: Mapping[str, Counters | None], thresholds: Thresholds, schedule: Schedule, now: float
) -> tuple[Sampler, Judged | None]:
    """One round of readings, and the judged window where this round closed one."""
    if now < sampler.window.opened:
        sampler = start(now, schedule)
    due = max(sampler.due + schedule.interval, now)
    window = sampler.window.with_readings(readings, now)
    if not sampler.closes(schedule, now):
        return replace(sampler, window=window, due=due), None
    judged = judge(window, thresholds, now, sampler.row)
    following = window.next(now, frozenset(readings))
    return Sampler(window=following, due=due, row=judged.row), judged
