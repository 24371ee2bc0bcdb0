"""What the picture shows: the courses of speed and acceptance around the change of traffic. Pure; plot.py draws it."""

from dataclasses import dataclass

from hack.demo import counters, report, speed
from hack.demo.recording import Act, Recording
from hack.demo.speed import Span

_BIN_SECONDS = 1.0
Point = tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A moment, in seconds from the change of traffic."""

    at: float
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """Points and levels; times are seconds from the change of traffic.

    levels: tokens per second of the plain service on code, and on drift. minimum: acceptance that the guard asks for.
    """

    speeds: tuple[Point, ...]
    acceptance: tuple[Point, ...]
    plain_code: float
    plain_drift: float
    minimum: float
    marks: tuple[Mark, ...]
    begin: float
    end: float
    caption: str


def compose(run: Recording) -> Picture:
    """Put the picture together: from the speculating service on code to the end."""
    onset, fast = run.moments.onset, report.speeds(run)
    begin, end = run.spans[Act.CODE].begin, run.spans[Act.AFTER].end
    points = [(at - onset, rate) for at, rate in counters.course(run.readings) if begin <= at <= end]
    return Picture(
        speeds=tuple((at - onset, value) for at, value in _speeds(run, Span(begin=begin, end=end))),
        acceptance=tuple(points),
        plain_code=fast[Act.PLAIN_CODE].median,
        plain_drift=fast[Act.PLAIN_DRIFT].median,
        minimum=run.minimum,
        marks=_marks(run),
        begin=begin - onset,
        end=end - onset,
        caption=f"{run.machine.cores} cores, {run.machine.cpu}; KServe: {run.kserve}; windows of {_window(run)}",
    )


def _speeds(run: Recording, span: Span) -> list[Point]:
    """Tokens per second in each second; a second without an answer is an honest zero."""
    bins = speed.slices(span, _BIN_SECONDS)
    return [((each.begin + each.end) / 2, speed.rate(run.completions, each)) for each in bins]


def _marks(run: Recording) -> tuple[Mark, ...]:
    when = run.moments
    return (
        Mark(at=0.0, words="the traffic drifts"),
        Mark(at=when.decided - when.onset, words=f"decision: {run.decision.reason}"),
        Mark(at=when.serving - when.onset, words="a plain pod serves"),
    )


def _window(run: Recording) -> str:
    return f"{run.sample.guard.window:g} s"
