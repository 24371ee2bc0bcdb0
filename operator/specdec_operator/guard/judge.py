"""Judges one closed window: first each pod, then all pods together, then compared with the baseline pods.

The checks run in order, and the first one that returns a verdict decides. The checks for missing data come first, so
that no other check judges incomplete data. Then come the failures, then the inconclusive results.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from specdec_operator.guard import acceptance, checks
from specdec_operator.guard import speed_checks as speed
from specdec_operator.guard.baseline import Comparison, compare, is_alike
from specdec_operator.guard.baseline_pods import Measure, MeasureFinding, Pair, about, finding_of, pair_of
from specdec_operator.guard.best_tokens import TokensAtLoad, fastest
from specdec_operator.guard.checks import Check, WindowCase, over, unsure
from specdec_operator.guard.gain import DipEvidence, DipGain, DipSpan
from specdec_operator.guard.off_cost import (
    BaselineSteps,
    OffCost,
    baseline_steps_of,
    in_dips,
    off_cost_of,
    off_cost_since,
)
from specdec_operator.guard.pods import WindowPods, others_of, skewed
from specdec_operator.guard.policy import Thresholds
from specdec_operator.guard.speed_checks import gain_text, speedup_text
from specdec_operator.guard.statistics import RatioSums
from specdec_operator.guard.token_time import TokenTimes
from specdec_operator.guard.trial import Traffic
from specdec_operator.guard.verdict import BY_ACCEPTANCE, Outcome, Reason, Verdict
from specdec_operator.guard.window import Evidence, FailingRun, Window, by_pod, pooled

CHECKS: Final[tuple[Check, ...]] = (
    checks.unread,  # data that is missing or wrong comes first: no other check may judge it
    checks.restarted,
    checks.implausible,
    checks.stalls,
    checks.no_traffic,
    checks.dialled,  # the user knows that less is drafted
    acceptance.not_drafting,  # without drafts there is no acceptance to judge
    acceptance.acceptance_rate,
    acceptance.acceptance_length,
    speed.slower_than_baseline_pods,  # before `slower`: baseline pods have the same traffic, an older baseline may not
    speed.slower_in_the_engine,  # before `slower`, for the same reason; after the baseline pods, which are exact
    speed.slower,
    speed.too_slow,
    speed.collateral,  # after the speed: a slow draft is reported as slow
    checks.few_tokens,  # inconclusive from here on; after the speed, which needs requests and no drafted tokens
    acceptance.not_significant,
    speed.not_compared,
    acceptance.rarely_drafts,
)
BASELINE_CHECKS: Final[tuple[Check, ...]] = (
    checks.unread,
    checks.restarted,
    checks.stalls,
    checks.no_traffic,
    speed.too_slow,
)


def judge_case(case: WindowCase) -> Verdict:
    """The verdict on one piece of evidence."""
    for check in BASELINE_CHECKS if case.thresholds.of_baseline else CHECKS:
        if verdict := check(case):
            return verdict
    return _of_baseline(case.evidence) if case.thresholds.of_baseline else _passed(case)


def _of_baseline(evidence: Evidence) -> Verdict:
    seconds = evidence.token_time.times.mean
    took = "no request ended" if seconds is None else f"{1000 * seconds:.1f} ms per output token"
    message = f"baseline: {took} over {evidence.seconds:.0f} s, {evidence.generation_tokens:.0f} tokens"
    return unsure(Reason.PLAIN, message)


def _passed(case: WindowCase) -> Verdict:
    evidence = case.evidence
    rate, length = evidence.acceptance_rate or 0.0, evidence.acceptance_length or 1.0
    faster = f", {speedup_text(case.comparison)}" if case.comparison else ""
    gain = f"; {gain_text(case.gain)}" if case.gain else ""
    default = case.thresholds.yielded
    yields = f" (the default minimum {default:.2f} yields to the speed)" if default and rate < default else ""
    message = f"acceptance {rate:.2f}{yields}, {length:.2f} tokens per step{faster}{over(evidence)}{gain}"
    return Verdict(outcome=Outcome.PASS, reason=Reason.ACCEPTED, message=message)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A closed window: the verdict, the evidence of all pods, and the speed compared with the baseline.

    comparison: None if it is unknown, and for a baseline window. lost: what the window adds to the regret, in
    point-hours; None if it is unknown.
    row: all failing windows in a row, this one included; empty after any other. pair: the window in both arms; None
    without baseline pods. findings: the results of the windows of both arms so far. recent: the traffic of the last
    windows, oldest first. dips: of this window and of those before it; gain: what they show, by which it was judged;
    loads: the fastest K by load, by the same dips. yields: whether the default minimum of the acceptance did not count.
    off_cost: what dips and the baseline show so far of engines that leave their draft out; None: not enough.
    baseline_steps: those of a service without speculation so far; None: not enough.
    """

    verdict: Verdict
    evidence: Evidence
    comparison: Comparison | None
    row: FailingRun
    lost: float | None = None
    pair: Pair | None = None
    findings: tuple[MeasureFinding, ...] = ()
    recent: tuple[Traffic, ...] = ()
    dips: DipEvidence = field(default_factory=DipEvidence)
    gain: DipGain | None = None
    loads: tuple[TokensAtLoad, ...] = ()
    yields: bool = False
    off_cost: OffCost | None = None
    baseline_steps: BaselineSteps | None = None

    @property
    def conclusive(self) -> bool:
        """Whether the window proves something."""
        return self.verdict.outcome is not Outcome.INCONCLUSIVE


LONGEST_PAUSE: Final = 3600.0
"""Seconds without a failing window after which those before it are history."""
_SOON: Final = 3600.0
"""Seconds after a baseline for which dips are compared with it."""


def judge(
    window: Window,
    thresholds: Thresholds,
    now: float,
    row: FailingRun | None = None,
    baseline: Window | None = None,
    dips: DipEvidence | None = None,
) -> Judged:
    """The verdict on a window that closes at `now`. row: the failing windows before it. baseline: the window of the
    baseline pods. dips: those of the windows before it.

    Each pod is judged before all of them together, because one broken pod could make the sum fail. Pods with a long gap
    between readings, or with a restart, are excluded as long as more than half of all pods remain.
    """
    parts = by_pod(window.closed(), now)
    whole = _whole(parts, thresholds)
    pool = _pool(window, parts, whole, now)
    before = row if row is not None and now - row.at <= LONGEST_PAUSE else FailingRun()
    longer = before.plus(pool, parts, now)
    theirs = _baseline_pods(whole, baseline, thresholds, now)
    pair = pair_of(whole, theirs, now) if theirs else None
    findings = _findings_of_both(pair, thresholds)
    seen = _dips(dips or DipEvidence(), pool, thresholds)
    seen = _beside(seen, whole, theirs, pool.seconds) if theirs else _alone(seen, whole, pool, thresholds, now)
    case = _of_all(_case(pool, thresholds, longer.token_times), _gain(seen, thresholds), pair, findings)
    verdict = _verdict(case, _on_pods(parts, thresholds, longer), thresholds)
    return Judged(
        verdict=replace(_settled(verdict, longer, pool, thresholds), at=now),
        evidence=pool,
        comparison=None if thresholds.of_baseline else case.comparison,
        row=_row(verdict, before, longer),
        lost=_lost(verdict, pool, case.thresholds),
        pair=pair,
        findings=findings,
        dips=seen,
        gain=case.gain,
        loads=fastest(seen.before),
        yields=case.thresholds.yielded is not None,
        off_cost=off_cost_of(seen.beside, now) if theirs else _off_cost_since(seen, thresholds, now),
        baseline_steps=baseline_steps_of(seen.alone, now) if thresholds.of_baseline else None,
    )


def _gain(seen: DipEvidence, thresholds: Thresholds) -> DipGain | None:
    """What the dips show, compared with the baseline where that is known. A lower bound has to be of all time, and time
    in which rows draft nothing is in no kind of steps.
    """
    gain = seen.gain and seen.gain.over_baseline(thresholds.off_cost)
    return replace(gain, low=None) if gain is not None and thresholds.pauses else gain


def _pool(window: Window, parts: Mapping[str, Evidence], whole: Mapping[str, Evidence], now: float) -> Evidence:
    """The evidence of all pods: of those that were read well, as long as they are more than half of all."""
    most = 2 * len(whole) > len(parts) + len(window.unread)
    unread = 0 if most else len(window.unread)
    return pooled(whole if most else parts, seconds=now - window.opened, unread=unread)


def _of_all(
    case: WindowCase, gain: DipGain | None, pair: Pair | None, findings: tuple[MeasureFinding, ...]
) -> WindowCase:
    """The case of all pods together, with what the dips and the baseline pods show."""
    return _yielding(_with_baseline_pods(replace(case, gain=gain), pair, findings))


def _verdict(case: WindowCase, pods: WindowPods, thresholds: Thresholds) -> Verdict:
    """The verdict on all pods together, unless it is due to some of them."""
    together = judge_case(case)
    return skewed(pods, together, thresholds) or together


def _row(verdict: Verdict, before: FailingRun, longer: FailingRun) -> FailingRun:
    """The failing windows in a row from here on. A quiet verdict leaves them as they were."""
    if verdict.outcome is Outcome.FAIL:
        return longer
    return before if verdict.quiet else FailingRun()


def _dips(before: DipEvidence, pool: Evidence, thresholds: Thresholds) -> DipEvidence:
    """The dips so far. While the dial asks for fewer tokens than the flags, nothing is learnt of what the flags ask."""
    broken = pool.restarted or pool.unread or thresholds.dialled is not None
    return before if broken else before.plus(DipSpan(kinds=pool.dips, other=pool.other_dips, seconds=pool.seconds))


def _whole(parts: Mapping[str, Evidence], thresholds: Thresholds) -> dict[str, Evidence]:
    """The pods that were read well."""
    gap = thresholds.longest_gap
    return {pod: part for pod, part in parts.items() if not part.restarted and part.longest_gap <= gap}


def _baseline_pods(
    speculating: Mapping[str, Evidence], baseline: Window | None, thresholds: Thresholds, now: float
) -> dict[str, Evidence]:
    """The baseline pods of the window; none where one of the arms cannot be read, or is not what it is taken for."""
    if baseline is None or thresholds.of_baseline or thresholds.dialled is not None:
        return {}
    theirs = _whole(by_pod(baseline.closed(), now), thresholds)
    return theirs if speculating and not any(part.speculative for part in theirs.values()) else {}


def _beside(
    seen: DipEvidence, speculating: Mapping[str, Evidence], baseline: Mapping[str, Evidence], seconds: float
) -> DipEvidence:
    """The dips so far, with the steps at nothing of one more window of both arms."""
    ours = {pod: in_dips(part.dips, part.off_steps) for pod, part in speculating.items()}
    theirs = {pod: part.off_steps for pod, part in baseline.items()}
    return replace(seen, beside=seen.beside.plus(ours, theirs, seconds))


def _alone(
    seen: DipEvidence, pods: Mapping[str, Evidence], pool: Evidence, thresholds: Thresholds, now: float
) -> DipEvidence:
    """The dips so far, with one more window of a service without speculation, or of one that speculates since."""
    if thresholds.of_baseline:
        steps = {pod: part.off_steps for pod, part in pods.items() if not part.speculative}
    elif _before(thresholds, now) and is_alike(thresholds.baseline, pool.token_times):
        steps = {pod: in_dips(part.dips, part.off_steps) for pod, part in pods.items()}
    else:
        return seen
    return replace(seen, alone=seen.alone.plus(steps, pool.seconds)) if any(steps.values()) else seen


def _before(thresholds: Thresholds, now: float) -> BaselineSteps | None:
    """The baseline of before, while dips are still compared with it."""
    before = thresholds.baseline_steps
    if before is None or thresholds.of_baseline or thresholds.dialled is not None or now - before.at > _SOON:
        return None
    return before


def _off_cost_since(seen: DipEvidence, thresholds: Thresholds, now: float) -> OffCost | None:
    before = _before(thresholds, now)
    return None if before is None else off_cost_since(seen.alone, before, now)


def _findings_of_both(pair: Pair | None, thresholds: Thresholds) -> tuple[MeasureFinding, ...]:
    """The results of the windows of both arms, this one included; empty if this one had no baseline pods."""
    if pair is None:
        return ()
    pairs = (*thresholds.pairs, pair)
    limits = {Measure.SPEED: 1.0 if thresholds.speedup is None else thresholds.speedup, **thresholds.collateral}
    found = (finding_of(pairs, measure, limit) for measure, limit in limits.items())
    return tuple(each for each in found if each is not None)


def _with_baseline_pods(case: WindowCase, pair: Pair | None, findings: tuple[MeasureFinding, ...]) -> WindowCase:
    """The case with the results of both arms. They replace the baseline of another time."""
    pairs = len(case.thresholds.pairs) + 1
    if pair is None:
        return case
    found = about(findings, Measure.SPEED)
    if found is None:
        return replace(case, comparison=None, longer=None, pairs=pairs)
    compared = Comparison(
        speedup=found.value, low=found.low, high=found.high, share=1.0, baseline=pair.baseline, seconds=pair.seconds
    )
    return replace(case, comparison=compared, longer=compared, findings=findings, pairs=pairs)


def _yielding(case: WindowCase) -> WindowCase:
    """The case without the method's default minimum of the acceptance, if speculation was measured not to be slower:
    the default guesses from which acceptance on a draft pays. Single pods are still held against it, because it finds
    the one whose draft is broken.
    """
    return replace(case, thresholds=case.thresholds.without_default) if speed.is_not_slower(case) else case


def _lost(verdict: Verdict, pool: Evidence, thresholds: Thresholds) -> float | None:
    """What the window adds to the regret; None for a baseline window, for incomplete data, if the dial asks for other
    tokens, and if single pods are to blame.
    """
    return None if verdict.void or verdict.pods or thresholds.of_baseline else acceptance.lost(pool, thresholds)


def _case(evidence: Evidence, thresholds: Thresholds, token_times: TokenTimes) -> WindowCase:
    comparison, longer = compare(thresholds.baseline, evidence.token_times), compare(thresholds.baseline, token_times)
    return WindowCase(evidence=evidence, thresholds=thresholds, comparison=comparison, longer=longer)


def _on_pods(parts: Mapping[str, Evidence], thresholds: Thresholds, run: FailingRun) -> WindowPods:
    verdicts = {pod: judge_case(_case(part, thresholds, part.token_times)) for pod, part in parts.items()}
    others = others_of(parts, verdicts)
    rest = None if others is None else judge_case(_case(others, thresholds, others.token_times))
    return WindowPods(parts=parts, verdicts=verdicts, rest=rest, run=run)


def _settled(verdict: Verdict, run: FailingRun, pool: Evidence, thresholds: Thresholds) -> Verdict:
    """The verdict, unsettled while the scatter of all failing windows in a row could still explain it."""
    row = run.by_pod.get(verdict.pods[0], RatioSums()) if verdict.pods else run.acceptance
    if verdict.reason not in BY_ACCEPTANCE | {Reason.POD_SKEW} or row.mean is None:
        return verdict
    if verdict.reason is not Reason.ACCEPTANCE_LENGTH_LOW:
        least = thresholds.acceptance_rate or 0.0
    else:  # a length of 1 + accepted / drafts, as a rate of the tokens that were drafted
        least = ((thresholds.acceptance_length or 1.0) - 1) * pool.drafts / pool.draft_tokens
    width = row.half_width(pool.alike)
    if width is not None and row.mean + width < least:
        return verdict
    bound = "unknown" if width is None else f"{row.mean + width:.2f}"
    message = (
        f"{verdict.message}; the traffic comes in bursts, so more windows are needed (bound over all windows {bound})"
    )
    return replace(verdict, message=message, settled=False)
