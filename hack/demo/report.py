"""The report of a run: speeds, acceptance, the rollback and the promises, as demo.json, as a table and as a picture."""

import json
import pathlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, Final, TypeAlias

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from hack import drawing
from hack.demo import traffic
from hack.demo.observed import Moments
from hack.demo.traffic import Completion, Failure, Reading, Span, Speed
from hack.machine import Machine
from specdec_engine.quantity import format_duration
from specdec_operator.api.spec import Spec

Report: TypeAlias = dict[str, Any]

SLICE_SECONDS: Final = 3.0
PATCH_SECONDS: Final = 2.0  # from the decision to the InferenceService patched, at most


class Act(StrEnum):
    """What was measured: the baseline on both topics, the service with speculation on both, and after the rollback."""

    PLAIN_CODE = "plain_code"
    PLAIN_DRIFT = "plain_drift"
    CODE = "code"
    DRIFT = "drift"
    AFTER = "after"


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """All that was measured in one run.

    in_status: the acceptance in the status of the service at the end of an act. minimum: the acceptance that the guard
    asks for. rollback: status.guard.rollback. steps: seconds of each.
    """

    spec: Spec
    kserve: str
    machine: Machine
    origin: Mapping[str, Any]
    completions: list[Completion]
    failures: list[Failure]
    readings: list[Reading]
    spans: Mapping[Act, Span]
    in_status: Mapping[Act, float | None]
    minimum: float
    moments: Moments
    rollback: Mapping[str, str]
    steps: Mapping[str, float]


def decision_bound(spec: Spec) -> float:
    """Seconds from the onset of bad traffic within which the operator promises to decide."""
    return (spec.guard.failure_limit + 1) * spec.guard.window


def promises(run: Recording) -> list[Report]:
    """What the operator promises about a rollback, and what was measured of it, in seconds."""
    when = run.moments
    decision = f"onset to decision within {run.spec.guard.failure_limit + 1} windows"
    measured = (
        (decision, decision_bound(run.spec), round(when.decided - when.onset, 1)),
        ("decision to InferenceService patched", PATCH_SECONDS, round(when.patched - when.decided, 2)),
    )
    return [{"what": what, "at_most": most, "measured": took, "kept": took <= most} for what, most, took in measured]


def speeds(run: Recording) -> dict[Act, Speed]:
    """The speed in each act."""
    return {act: traffic.speed(run.completions, span, SLICE_SECONDS) for act, span in run.spans.items()}


def assemble(run: Recording) -> Report:
    """Everything, as it is written to demo.json. Rates and speedups are rounded here and nowhere before."""
    fast, when = speeds(run), run.moments
    plain, after = fast[Act.PLAIN_DRIFT], fast[Act.AFTER]
    return {
        "plain": _speed(fast[Act.PLAIN_CODE]) | {f"drift_{key}": value for key, value in _speed(plain).items()},
        "code": _act(run, Act.CODE, fast[Act.CODE], fast[Act.PLAIN_CODE]),
        "drift": _act(run, Act.DRIFT, fast[Act.DRIFT], plain),
        "decision": {
            "seconds_from_onset": round(when.decided - when.onset, 1),
            "seconds_to_patch": round(when.patched - when.decided, 2),
            **{key: run.rollback[key] for key in ("reason", "message", "at")},
        },
        "serving_again_seconds": round(when.serving - when.decided, 1),
        "rolled_back_seconds": round(when.rolled_back - when.decided, 1),
        "after": {
            **_speed(after),
            "speedup": _ratio(after, plain),
            "speedup_over_drift": _ratio(after, fast[Act.DRIFT]),
        },
        "promises": promises(run),
        "requests": {
            "ok": len(run.completions),
            "failed": len(run.failures),
            "failures": [{"seconds_from_onset": round(at - when.onset, 1), "why": why} for at, why in run.failures],
            "clients": traffic.CLIENTS,
            "max_tokens": traffic.MAX_TOKENS,
        },
        "kserve": run.kserve,
        "windows": _windows(run.spec),
        "machine": asdict(run.machine),
        "origin": dict(run.origin),
        "steps": dict(run.steps),
    }


def _speed(fast: Speed) -> Report:
    return {"tokens_per_second": round(fast.median, 1), "spread": [round(fast.lowest, 1), round(fast.highest, 1)]}


def _act(run: Recording, act: Act, fast: Speed, plain: Speed) -> Report:
    rate = traffic.acceptance(run.readings, run.spans[act])
    accepted = {"acceptance": None if rate is None else round(rate, 3), "acceptance_in_status": run.in_status[act]}
    return accepted | _speed(fast) | {"speedup": _ratio(fast, plain)}


def _windows(spec: Spec) -> Report:
    guard = spec.guard
    lengths = {"interval": guard.interval, "window": guard.window, "warmup": guard.warmup}
    limits = {"failureLimit": guard.failure_limit, "minDraftTokens": guard.min_draft_tokens}
    written = {key: format_duration(value) for key, value in lengths.items()}
    return {**written, **limits, "strategy": spec.rollout.strategy.value}


def _ratio(fast: Speed, slow: Speed) -> float:
    return round(fast.median / slow.median, 2)


def render(report: Report) -> RenderableType:
    """The report for people."""
    machine = report["machine"]
    where = f"KServe {report['kserve']} · {machine['cores']} cores, {machine['memory_gib']} GiB, {machine['cpu']}"
    return Group(speeds_table(report), Text(), rollback_table(report), Text(), Text(where, "dim"))


def speeds_table(report: Report) -> Table:
    """Acceptance and speed of each act."""
    table = Table("service", "traffic", title="what the traffic saw", title_justify="left")
    for name in ("acceptance", "tokens/s", "(range)", "against plain"):
        table.add_column(name, justify="right")
    plain_drift = {key: report["plain"][f"drift_{key}"] for key in ("tokens_per_second", "spread")}
    rows = (
        ("plain", "code", report["plain"]),
        ("speculating", "code", report["code"]),
        ("plain", "drift", plain_drift),
        ("speculating", "drift", report["drift"]),
        ("rolled back", "drift", report["after"]),
    )
    for number, (service, topic, found) in enumerate(rows):
        rate, (lowest, highest) = found.get("acceptance"), found["spread"]
        accepted = "-" if rate is None else f"{rate:.2f}"
        tokens, times = f"{found['tokens_per_second']:.0f}", f"{found.get('speedup', 1):.2f}x"
        spread = f"{lowest:.0f} - {highest:.0f}"
        table.add_row(service, topic, accepted, tokens, spread, times, end_section=number == 1)
    return table


def rollback_table(report: Report) -> Table:
    """The rollback, and what it cost."""
    table = Table(title="what the operator did by itself", title_justify="left", show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    decision, windows, requests = report["decision"], report["windows"], report["requests"]
    serving = f"{report['serving_again_seconds']} s after the decision (strategy {windows['strategy']})"
    table.add_row("windows", f"{windows['window']}, {windows['failureLimit']} failing in a row decide")
    table.add_row("decided", f"{decision['seconds_from_onset']} s after the traffic changed: {decision['reason']}")
    table.add_row("", Text(decision["message"], "dim"))
    table.add_row("InferenceService patched", f"{decision['seconds_to_patch']} s after the decision")
    table.add_row("plain pod serves", serving)
    table.add_row("speed after the rollback", f"{report['after']['speedup_over_drift']}x of before")
    table.add_row("requests", f"{requests['ok']} answered, {requests['failed']} failed")
    for promise in report["promises"]:
        kept = Text("kept", "green") if promise["kept"] else Text("NOT KEPT", "bold red")
        measured = Text(f" ({promise['measured']:g} s of {promise['at_most']:g} s)")
        table.add_row(f"promise: {promise['what']}", kept + measured)
    return table


def write(run: Recording, report: Report, folder: pathlib.Path) -> list[pathlib.Path]:
    """Write the report, and the picture in both formats."""
    numbers, *pictures = (folder / f"demo.{suffix}" for suffix in ("json", "svg", "png"))
    numbers.write_text(json.dumps(report, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    with drawing.style():
        drawing.save(draw(run), *pictures)
    return [numbers, *pictures]


def draw(run: Recording) -> Figure:
    """Draw from the first measured second with speculation to the end; zero is the change of traffic."""
    onset, begin, end = run.moments.onset, run.spans[Act.CODE].begin, run.spans[Act.AFTER].end
    figure = Figure(figsize=(9, 4.8))
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(2, 3))
    _acceptance(upper, run, Span(begin, end))
    _speeds(lower, run, Span(begin, end))
    _moments(upper, lower, run)
    lower.set_xlim(begin - onset, end - onset)
    where, windows = f"{run.machine.cores} cores, {run.machine.cpu}", f"windows of {run.spec.guard.window:g} s"
    figure.text(0.99, 0.01, f"{where}; KServe {run.kserve}; {windows}", ha="right", fontsize=7, color=drawing.GREY)
    figure.tight_layout(rect=(0, 0.02, 1, 1))
    return figure


def _acceptance(axes: Axes, run: Recording, span: Span) -> None:
    onset = run.moments.onset
    points = [(at - onset, rate) for at, rate in traffic.acceptances(run.readings) if span.begin <= at <= span.end]
    axes.plot(*zip(*points, strict=True), ".-", color=drawing.GREEN)
    axes.axhline(run.minimum, color=drawing.GREY, linestyle=":", linewidth=1)
    axes.text(span.end - onset, run.minimum, f" guard: ≥ {run.minimum:g}", color=drawing.GREY, va="bottom", ha="right")
    axes.set(ylabel="accepted / drafted", ylim=(-0.05, 1.05))


def _speeds(axes: Axes, run: Recording, span: Span) -> None:
    """Tokens per second in each second; one without an answer is zero."""
    onset, fast = run.moments.onset, speeds(run)
    bins = traffic.slices(span, 1.0)
    middles = [(each.begin + each.end) / 2 - onset for each in bins]
    axes.plot(middles, [traffic.rate(run.completions, each) for each in bins], color=drawing.BLUE)
    levels = ((Act.PLAIN_CODE, "code", span.begin, onset), (Act.PLAIN_DRIFT, "drift", onset, span.end))
    for act, topic, begin, end in levels:
        level = fast[act].median
        axes.hlines(level, begin - onset, end - onset, color=drawing.GREY, linestyle="--", linewidth=1)
        axes.text(begin - onset, level, f" plain, on {topic}", color=drawing.GREY, va="bottom")
    axes.set(ylabel="tokens/s", xlabel="seconds from the change of the traffic")
    axes.set_ylim(bottom=0)


def _moments(upper: Axes, lower: Axes, run: Recording) -> None:
    when = run.moments
    decided, serving = when.decided - when.onset, when.serving - when.onset
    labels = (
        (0.0, "the traffic drifts"),
        (decided, f"decision: {run.rollback['reason']}, {decided:.1f} s"),
        (serving, f"a plain pod serves, {serving:.1f} s"),
    )
    for number, (at, label) in enumerate(labels):
        for axes in (upper, lower):
            axes.axvline(at, color=drawing.RED, linewidth=1)
        # Neighbours may be seconds apart: every other label is a line higher.
        offset = (3, 2 + 12 * (number % 2))
        upper.annotate(label, (at, 1.05), offset, textcoords="offset points", color=drawing.RED, annotation_clip=False)
