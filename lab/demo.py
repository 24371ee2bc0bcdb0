"""A run of `make demo`, which tests/node/demo.py measures: speeds, acceptance, the dial, the rollback and the promises.
They are written as demo.json and demo.png, and into README.md and docs/demo.md.
"""

import json
import pathlib
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, TypeAlias

from hack import drawing, machine
from hack.pages import block, filled
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from specdec_engine.quantity import parse_duration

Report: TypeAlias = dict[str, Any]

_RUN: Final = pathlib.Path(__file__).parents[1] / "docs" / "demo" / "demo.json"
_DIAL_SECONDS: Final = 2.0  # from the decision until each engine answers that it drafts nothing, at most
_PATCH_SECONDS: Final = 2.0  # from the decision for a rollback to the InferenceService patched, at most
_SLICE_SECONDS: Final = 3.0
MAX_TOKENS: Final = 96  # of a request


class DemoAnswer(NamedTuple):
    """One answered request, with the completion tokens of its usage."""

    began: float
    ended: float
    tokens: int


class Reading(NamedTuple):
    """The speculation counters of one pod's engine at one moment."""

    at: float
    pod: str
    drafted: float
    accepted: float


class Span(NamedTuple):
    """From one moment to another."""

    begin: float
    end: float


@dataclass(slots=True, kw_only=True)
class Moments:
    """When each part was seen. onset: the first request of the other traffic; decided, dialled: the decision, and the
    dial at nothing in each pod. recovered: the first request of the first traffic again; up: the dial goes back up.
    second: the other traffic again; dialled_again, given_up: the decisions for the dial and for a rollback; patched,
    serving, rolled_back: the InferenceService, a baseline pod and the phase.
    """

    onset: float = 0
    decided: float = 0
    dialled: float = 0
    recovered: float = 0
    up: float = 0
    second: float = 0
    dialled_again: float = 0
    given_up: float = 0
    patched: float = 0
    serving: float = 0
    rolled_back: float = 0


@dataclass(slots=True, kw_only=True)
class KServeRun:
    """All that was measured. spans: of `plain_code`, `plain_drift`, `code`, `drift`, `dialled`, `again` and `after`.
    in_status: the acceptance in the status at their ends. decision: for the dial, the first time. failures: when, and
    why. steps: seconds of each.
    """

    guard: Mapping[str, Any]
    strategy: str
    kserve: str
    answers: list[DemoAnswer] = field(default_factory=list)
    failures: list[tuple[float, str]] = field(default_factory=list)
    readings: list[Reading] = field(default_factory=list)
    spans: dict[str, Span] = field(default_factory=dict)
    in_status: dict[str, float | None] = field(default_factory=dict)
    moments: Moments = field(default_factory=Moments)
    minimum: float = 0
    decision: Mapping[str, str] = field(default_factory=dict)
    steps: dict[str, float] = field(default_factory=dict)

    @property
    def decision_bound(self) -> float:
        """Seconds from the onset of bad traffic within which the operator promises to decide."""
        return (int(self.guard["failureLimit"]) + 1) * parse_duration(self.guard["window"])


def rate(answers: Iterable[DemoAnswer], span: Span) -> float:
    """Tokens per second within a span. A request that reaches over an edge counts by the share of its time inside."""
    inside = [(each, min(each.ended, span.end) - max(each.began, span.begin)) for each in answers]
    tokens = sum(each.tokens * time / (each.ended - each.began) for each, time in inside if time > 0)
    return tokens / (span.end - span.begin)


def slices(span: Span, length: float) -> list[Span]:
    """Cut a span into equal slices of about `length` seconds, at least one."""
    count = max(1, round((span.end - span.begin) / length))
    step = (span.end - span.begin) / count
    return [Span(span.begin + at * step, span.begin + (at + 1) * step) for at in range(count)]


def drafts(readings: Iterable[Reading]) -> Iterator[tuple[Span, float, float]]:
    """What each pod drafted and accepted between one reading and its next, in order of time."""
    before: dict[str, Reading] = {}
    for each in sorted(readings):
        if (old := before.get(each.pod)) and each.drafted > old.drafted:
            yield Span(old.at, each.at), each.drafted - old.drafted, each.accepted - old.accepted
        before[each.pod] = each


def acceptance(readings: Iterable[Reading], span: Span) -> float | None:
    """Accepted / drafted tokens inside a span, over all pods; None if nothing was drafted."""
    inside = [each for each in drafts(readings) if span.begin <= each[0].begin and each[0].end <= span.end]
    drafted = sum(each[1] for each in inside)
    return round(sum(each[2] for each in inside) / drafted, 3) if drafted else None


def report(run: KServeRun) -> Report:
    """Everything, as it is written to demo.json."""
    moments = run.moments
    fast = {act: _speed(run.answers, span) for act, span in run.spans.items()}
    plain, here = fast["plain_drift"], machine.origin()
    promises = _promises(run)
    onset, in_force, patched = (each["measured"] for each in promises)
    return {
        "plain": fast["plain_code"] | {f"drift_{key}": value for key, value in plain.items()},
        **{act: _act(run, act, fast) for act in ("code", "drift")},
        "decision": {"seconds_from_onset": onset, **{key: run.decision[key] for key in ("reason", "message", "at")}},
        "dial": {
            "seconds_to_force": in_force,
            "seconds_until_up": round(moments.up - moments.recovered, 1),
            "seconds_to_rollback": round(moments.given_up - moments.dialled_again, 1),
        },
        **{act: fast[act] | _gained(fast[act], fast) for act in ("dialled", "after")},
        "again": fast["again"] | {"speedup": _ratio(fast["again"], fast["plain_code"])},
        "seconds_to_patch": patched,
        "serving_again_seconds": round(moments.serving - moments.given_up, 1),
        "rolled_back_seconds": round(moments.rolled_back - moments.given_up, 1),
        "promises": promises,
        "requests": _requests(run),
        "kserve": run.kserve,
        "windows": {**run.guard, "strategy": run.strategy},
        "machine": {name: here[name] for name in ("cores", "memory_gib", "cpu")},
        "origin": here,
        "steps": run.steps,
    }


def _promises(run: KServeRun) -> list[Report]:
    """Seconds to the decision, from there to the dial in force, and from a rollback to the patched InferenceService."""
    moments = run.moments
    within = f"onset to decision within {int(run.guard['failureLimit']) + 1} windows"
    in_force, patched = moments.dialled - moments.decided, moments.patched - moments.given_up
    measured = (
        (within, run.decision_bound, round(moments.decided - moments.onset, 1)),
        ("decision to no draft in any pod", _DIAL_SECONDS, round(in_force, 2)),
        ("decision for a rollback to InferenceService patched", _PATCH_SECONDS, round(patched, 2)),
    )
    return [{"what": what, "at_most": most, "measured": took, "kept": took <= most} for what, most, took in measured]


def _requests(run: KServeRun) -> Report:
    failures = [{"seconds_from_onset": round(at - run.moments.onset, 1), "why": why} for at, why in run.failures]
    counts = {"ok": len(run.answers), "failed": len(failures), "failures": failures}
    return counts | {"clients": 1, "max_tokens": MAX_TOKENS}


def _speed(answers: Sequence[DemoAnswer], span: Span) -> Report:
    rates = [round(rate(answers, part), 1) for part in slices(span, _SLICE_SECONDS)]
    return {"tokens_per_second": round(statistics.median(rates), 1), "spread": [min(rates), max(rates)]}


def _act(run: KServeRun, act: str, fast: Mapping[str, Report]) -> Report:
    accepted = {"acceptance": acceptance(run.readings, run.spans[act]), "acceptance_in_status": run.in_status[act]}
    return accepted | fast[act] | {"speedup": _ratio(fast[act], fast[f"plain_{act}"])}


def _gained(found: Report, fast: Mapping[str, Report]) -> Report:
    """Against the baseline on the same traffic, and against speculation on it."""
    return {"speedup": _ratio(found, fast["plain_drift"]), "speedup_over_drift": _ratio(found, fast["drift"])}


def _ratio(fast: Report, slow: Report) -> float:
    return float(round(fast["tokens_per_second"] / slow["tokens_per_second"], 2))


def words(found: Report) -> str:
    """The report for people, as docs/demo.md has it."""
    return block("demo.md", "run", {**found, "made": machine.sentence(found)})


def write(run: KServeRun, found: Report, folder: pathlib.Path) -> None:
    """Write demo.json and demo.png."""
    (folder / "demo.json").write_text(json.dumps(found, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    with drawing.style():
        drawing.save(draw(run, found), folder / "demo.png")


def draw(run: KServeRun, found: Report) -> Figure:
    """Draw from the first measured second with speculation to the end; zero is the first change of traffic."""
    moments, onset, span = run.moments, run.moments.onset, Span(run.spans["code"].begin, run.spans["after"].end)
    begin, end = span.begin - onset, span.end - onset
    figure = Figure(figsize=(9, 4.8))
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(2, 3))
    points = [(each.end - onset, accepted / drafted) for each, drafted, accepted in drafts(run.readings)]
    upper.plot(*zip(*points, strict=True), ".", color=drawing.GREEN)
    _level(upper, (begin, end), run.minimum, f"guard: ≥ {run.minimum:g}")
    upper.set(ylabel="accepted / drafted", ylim=(-0.05, 1.05))
    seconds = slices(span, 1.0)
    middles = [(each.begin + each.end) / 2 - onset for each in seconds]
    lower.plot(middles, [rate(run.answers, each) for each in seconds], color=drawing.BLUE)
    back, second = moments.recovered - onset, moments.second - onset
    _level(lower, (begin, 0), found["plain"]["tokens_per_second"], "plain, on code")
    _level(lower, (back, second), found["plain"]["tokens_per_second"], "")
    _level(lower, (0, back), found["plain"]["drift_tokens_per_second"], "")
    _level(lower, (second, end), found["plain"]["drift_tokens_per_second"], "plain, on drift")
    lower.set(ylabel="tokens/s", xlabel="seconds from the change of the traffic", xlim=(begin, end))
    lower.set_ylim(bottom=0)
    _mark(upper, lower, run)
    here = f"{found['machine']['cores']} cores, {found['machine']['cpu']}; KServe {run.kserve}"
    note = f"{here}; windows of {run.guard['window']}"
    figure.text(0.99, 0.01, note, ha="right", fontsize=7, color=drawing.GREY)
    figure.tight_layout(rect=(0, 0.02, 1, 1))
    return figure


def _level(axes: Axes, between: tuple[float, float], value: float, label: str) -> None:
    axes.hlines(value, *between, color=drawing.GREY, linestyle="--", linewidth=1)
    axes.text(between[0], value, f" {label}", color=drawing.GREY, va="bottom")


def _mark(upper: Axes, lower: Axes, run: KServeRun) -> None:
    moments = run.moments
    labels = {
        "drift": moments.onset,
        f"dial off, {moments.decided - moments.onset:.1f} s": moments.decided,
        "code again": moments.recovered,
        "dial up": moments.up,
        "drift again": moments.second,
        "dial off": moments.dialled_again,
        "rollback": moments.given_up,
        "a plain pod serves": moments.serving,
    }
    for number, (label, at) in enumerate(labels.items()):
        for axes in (upper, lower):
            axes.axvline(at - moments.onset, color=drawing.RED, linewidth=1)
        # Neighbours may be seconds apart: of three labels each is a line higher.
        place, offset = (at - moments.onset, 1.05), (3, 2 + 12 * (number % 3))
        upper.annotate(label, place, offset, textcoords="offset points", color=drawing.RED, annotation_clip=False)


def readme(text: str, run: pathlib.Path = _RUN) -> str:
    """README.md with its picture, and the sentences about it."""
    return filled(text, "README.md", {"demo": json.loads(run.read_text(encoding="utf-8"))})


def page(text: str, run: pathlib.Path = _RUN) -> str:
    """docs/demo.md with the tables that the run printed."""
    found: Report = json.loads(run.read_text(encoding="utf-8"))
    return filled(text, "demo.md", {"run": {**found, "made": machine.sentence(found)}})
