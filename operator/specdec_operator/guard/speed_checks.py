"""The checks of a window's speed: compared with baseline pods, with the baseline of another time, and with a limit. And
the check of the measures other than speed.
"""

from typing import Final

from specdec_operator.guard.acceptance import rarely_drafted_text
from specdec_operator.guard.baseline import FEWEST_REQUESTS, Comparison, unlike
from specdec_operator.guard.baseline_pods import BOUND, FEWEST_PAIRS, Measure, MeasureFinding
from specdec_operator.guard.checks import WindowCase, failed, over, unsure
from specdec_operator.guard.gain import DipGain
from specdec_operator.guard.off_cost import OffCost
from specdec_operator.guard.verdict import Reason, Verdict

_GRAVE: Final = 0.8
"""Share of the least speedup below which a doubt does not wait for the end of the pause after the last one: machines
and traffic seldom move the speed so far by themselves."""


def measurable(case: WindowCase) -> bool:
    """Whether there was traffic enough to judge its speed, drafted or not."""
    evidence = case.evidence
    return (
        evidence.generation_tokens >= case.thresholds.min_draft_tokens
        and evidence.token_time.requests >= FEWEST_REQUESTS
    )


def speedup_text(comparison: Comparison) -> str:
    """The speedup compared with the baseline, with numbers."""
    interval = f"95 % interval {comparison.low:.2f} to {comparison.high:.2f}"
    times = f"{1000 * comparison.seconds:.1f} ms per output token, baseline {1000 * comparison.baseline:.1f} ms"
    return f"speedup {comparison.speedup:.2f} ({interval}; {times})"


def is_not_slower(case: WindowCase) -> bool:
    """Whether the speed was measured to be no less than `speedup.min` (1.0 if it is not set): by dips, or by the lower
    end of the 95 % interval. For a baseline of another time that interval is taken twice as wide: machines and traffic
    change. The engine's dips may not contradict it.
    """
    least, found = case.thresholds.least_gain, case.comparison
    if is_faster_in_the_engine(case):
        return True
    if least is None or found is None or (case.gain is not None and case.gain.high < least):
        return False
    low = found.low if case.findings else found.low * found.low / found.speedup
    return low >= least


def is_faster_in_the_engine(case: WindowCase) -> bool:
    """Whether the engine's dips show a gain of `speedup.min` at least, by its lower bound over the baseline. Baseline
    pods that are compared decide by themselves.
    """
    least, gain = case.thresholds.least_gain, case.gain
    if least is None or gain is None or gain.low is None or case.pairs:
        return False
    return gain.low >= least


def slower_than_baseline_pods(case: WindowCase) -> Verdict | None:
    """**Fail** (SlowerThanPlain): compared with baseline pods over the last windows, the speedup is below `speedup.min`
    by 4.5 standard errors. One such result ends speculation, without `failureLimit`.
    """
    found = case.finding(Measure.SPEED)
    if case.thresholds.speedup is None or found is None or not found.convicts or case.comparison is None:
        return None
    message = f"{speedup_text(case.comparison)} < {found.limit:.2f}, {score_text(found)}{over(case.evidence)}"
    return failed(Reason.SLOWER_THAN_PLAIN, message, final=True)


def score_text(found: MeasureFinding) -> str:
    """The running evidence and its bound."""
    return f"compared with baseline pods over {found.windows} windows (evidence {found.score:.1f} of {BOUND})"


def slower_in_the_engine(case: WindowCase) -> Verdict | None:
    """**Fail** (SlowerThanPlain): the engine's dips show a gain below `speedup.min` (1.0 if it is not set), and so does
    the upper bound of the gain. One such result ends speculation, without `failureLimit`. It does not count while
    baseline pods are compared. With `guard.tokens: Adapt` nothing is drafted at that load instead, if that is surely
    faster in the same engine.
    """
    least, gain = case.thresholds.least_gain, case.gain
    if least is None or gain is None or gain.high >= least or (case.thresholds.adapts and gain.rows_answer):
        return None
    if case.finding(Measure.SPEED) is not None:
        return None
    message = f"{gain_text(gain)} < {least:.2f}{rarely_drafted_text(case)}"
    return failed(Reason.SLOWER_THAN_PLAIN, message, final=True)


def gain_text(gain: DipGain) -> str:
    """What the dips of the engine show, with numbers and the time that they are of: longer than the window."""
    low = "" if gain.low is None else f"lower bound {gain.low:.2f}, "
    return (
        f"gain in the engine {gain.gain:.2f}, {low}upper bound {gain.high:.2f} ({gain.length:.2f} tokens per step; a "
        f"step without the draft takes {gain.ratio:.2f} of one with it{_cost_text(gain.cost)}; {gain.dips} dips in "
        f"{gain.seconds / 60:.0f} min, at loads of {gain.share:.0%} of the time)"
    )


def _cost_text(cost: OffCost | None) -> str:
    """What the gain was corrected by; empty if it was not."""
    if cost is None:
        return ""
    prompts = "" if cost.prompts is None else f", or {cost.prompts:.2f} of one with it if it takes a prompt in"
    return f", and a step of the baseline {cost.ratio:.2f} of that{prompts}"


def slower(case: WindowCase) -> Verdict | None:
    """**Fail** (SlowerThanPlain): compared with the baseline at the same load, the speedup is below `speedup.min`. Over
    all failing windows in a row, the upper end of the speedup's 95 % interval is also below it. A baseline of another
    time does not count if the dips show the limit.
    """
    least, comparison, longer = case.thresholds.speedup, case.comparison, case.longer
    if least is None or comparison is None or longer is None or case.findings or not measurable(case):
        return None
    if comparison.speedup >= least or longer.high >= least or is_faster_in_the_engine(case):
        return None
    message = f"{speedup_text(comparison)} < {least:.2f}{rarely_drafted_text(case)}{over(case.evidence)}"
    return failed(Reason.SLOWER_THAN_PLAIN, message, grave=longer.high < _GRAVE * least)


def too_slow(case: WindowCase) -> Verdict | None:
    """**Fail** (TooSlow): the time per output token is above `timePerOutputToken.max`, and so is the lower end of its
    95 % interval. If the limit is missed but the baseline is unknown at this load, the window is **Inconclusive**
    (NotMeasured). If the baseline took even longer, it is **Inconclusive** (PlainIsSlower).
    """
    most, times, comparison = case.thresholds.time_per_output_token, case.evidence.token_time.times, case.comparison
    if most is None or times.mean is None or times.mean <= most or not measurable(case):
        return None
    width = times.half_width()
    if width is None or times.mean - width <= most:
        return None
    message = f"{1000 * times.mean:.1f} ms per output token > {1000 * most:.1f} ms (± {1000 * width:.1f} ms)"
    if comparison is None and not case.thresholds.of_baseline:
        unknown = "the baseline's time at this load is unknown, so the cause of the slowness is unknown"
        return unsure(Reason.NOT_MEASURED, f"{message}; {_other_traffic(case) or unknown}{over(case.evidence)}")
    if comparison is not None and comparison.speedup > 1:
        baseline = (
            f"the baseline took {1000 * comparison.baseline:.1f} ms at this load, so speculation is not the cause"
        )
        return unsure(Reason.PLAIN_IS_SLOWER, f"{message}; {baseline}{over(case.evidence)}")
    return failed(Reason.TOO_SLOW, message + over(case.evidence))


def collateral_text(found: MeasureFinding) -> str:
    """A measure other than speed compared with its limit, with numbers."""
    kind = "less" if found.measure is Measure.HIT_RATE else "times the baseline's"
    interval = f"95 % interval {found.low:.2f} to {found.high:.2f}"
    return f"{found.measure.value} {found.value:.2f} {kind} ({interval}), limit {found.limit:.2f}, {score_text(found)}"


def collateral(case: WindowCase) -> Verdict | None:
    """**Fail** (Collateral): compared with baseline pods, another measure is worse than `collateral` allows by 4.5
    standard errors, and `collateral.response` is RollBack. One such result ends speculation, without
    `failureLimit`.
    """
    others = (each for each in case.findings if each.measure is not Measure.SPEED and each.convicts)
    worst = max(others, key=lambda each: each.score, default=None)
    if worst is None or not case.thresholds.collateral_convicts:
        return None
    return failed(Reason.COLLATERAL, collateral_text(worst) + over(case.evidence), final=True)


def not_compared(case: WindowCase) -> Verdict | None:
    """**Inconclusive**, if `speedup.min` is set: fewer than ten requests ended (FewRequests); more requests run at once
    than in any baseline measurement (BeyondBaseline); the baseline was never measured at this load, or with such
    prompts, answers or prefix-cache hits (NotMeasured); or the speedup is below the limit, but chance can explain
    that (NotSignificant). The dips may show that the limit is kept.
    """
    comparison, least = case.comparison, case.thresholds.speedup
    if least is None or is_faster_in_the_engine(case):
        return None
    ended = case.evidence.token_time.requests
    if comparison is None and ended < FEWEST_REQUESTS:
        message = f"{ended:.0f} requests ended; a speed comparison needs {FEWEST_REQUESTS}"
        return unsure(Reason.FEW_REQUESTS, message + over(case.evidence))
    if comparison is None and case.pairs:
        message = f"{case.pairs} windows compared with baseline pods; a speed comparison needs {FEWEST_PAIRS}"
        return unsure(Reason.NOT_MEASURED, message + over(case.evidence))
    if comparison is None:
        return _unknown_load(case)
    if comparison.speedup < least:
        score = f", {score_text(found)}" if (found := case.finding(Measure.SPEED)) else ""
        message = f"{speedup_text(comparison)} < {least:.2f}, but chance can explain it{score}"
        return unsure(Reason.NOT_SIGNIFICANT, message)
    return None


def _other_traffic(case: WindowCase) -> str:
    """The difference between this traffic and that of the baseline measurement, and how to compare nevertheless; empty
    if the traffic is similar.
    """
    differs = unlike(case.thresholds.baseline, case.evidence.token_times)
    ways = (
        "guard.control.mode OnDoubt compares with baseline pods, or with one pod measures the baseline again after ten "
        "such windows, at most once a day; or measure it again now (specdec rollback, later retry)"
    )
    return f"the baseline was measured with different traffic: {differs}; {ways}" if differs else ""


def _unknown_load(case: WindowCase) -> Verdict:
    """The baseline was never measured at the load of this window, or only with other traffic."""
    if other := _other_traffic(case):
        return unsure(Reason.NOT_MEASURED, other + over(case.evidence))
    seen = sorted(load for load, each in case.evidence.token_times.items() if each.requests)
    known = [each.load for each in case.thresholds.baseline if each.known]
    loads, measured = (", ".join(map(str, each)) or "none" for each in (seen, known))
    message = f"no baseline time per output token at this load: seen at {loads} running requests, known at {measured}"
    beyond = bool(known) and bool(seen) and min(seen) > max(known)
    return unsure(Reason.BEYOND_BASELINE if beyond else Reason.NOT_MEASURED, message + over(case.evidence))
