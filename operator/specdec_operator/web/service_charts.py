"""The pictures of a service's page, each with the words around it. Pure."""

from collections.abc import Iterator
from datetime import datetime
from typing import Final

from specdec_operator.display import numbers
from specdec_operator.display.describe import joined, span
from specdec_operator.display.untrusted import Untrusted
from specdec_operator.web import charts
from specdec_operator.web.charts import SpeedupInterval, StateSpan
from specdec_operator.web.html import Child, Html, badge, card, el, join, row, table, when

PAST: Final = "Measured with speculation; the service now runs without it."


def speculates(service: Untrusted) -> bool:
    """Whether the pods are asked to. The status keeps the last measured window, also after a rollback."""
    return service.of("status", "serving", "speculating").flag


def acceptance(service: Untrusted) -> Html:
    """How often the draft's token was accepted, position by position."""
    measured = service.of("status", "acceptance")
    shares = [each.number for each in measured.of("perPosition").items]
    present = [share for share in shares if share is not None]
    if not present:
        return card("Acceptance by position", el("p", "No window with enough drafted tokens yet.", class_="empty"))
    wanted = service.of("status", "guard", "thresholds", "acceptanceRate").number
    picture = charts.positions(present, measured.of("rate").number, wanted)
    past = None if speculates(service) else el("p", PAST, class_="soft")
    return card("Acceptance by position", picture, el("p", _window(measured), class_="soft"), past)


def _window(measured: Untrusted) -> str:
    length, drafted = measured.of("length").number, measured.of("draftTokens").whole
    steps = f"{length:.2f} tokens per step of the target" if length is not None else ""
    tokens = f"{drafted} drafted tokens" if drafted is not None else ""
    return joined(", ", steps, tokens, numbers.window_size(measured))


def _compared(service: Untrusted) -> Child:
    """The result so far of the windows with baseline pods."""
    found = numbers.compared(service.of("status"))
    heads = ("Measure", "Value", "95 % interval", "Limit", "Evidence", "Windows")
    rows = [
        row(each.measure, each.value, each.interval, each.limit, badge(each.evidence, _judged(each)), each.windows)
        for each in found
    ]
    return table("Compared with baseline pods, at the same time", heads, rows) if rows else None


def _judged(each: numbers.ComparedMeasure) -> str:
    return "warn" if each.convicts else "good"


def speed(service: Untrusted) -> Html:
    """How fast it is against the baseline at the same load, and how fast the baseline is by load."""
    performance = service.of("status", "performance")
    compared = performance.of("speedup").number is not None
    past = compared and not speculates(service)
    rows = numbers.loads(service.of("status"), Untrusted() if past else performance)
    heads = ("Load", "Baseline ms per token", "Plain tokens/s", "Now ms")
    caption = "The baseline by load: running requests per pod"
    return card(
        "Speed compared with the baseline",
        *_speedup(service, performance),
        _compared(service),
        el("p", f"Last measured: {numbers.speed(performance)}", class_="soft") if performance.there else None,
        el("p", PAST, class_="soft") if past else None,
        table(caption, heads, [row(*each[:3], each[4]) for each in rows]) if rows else None,
    )


def _speedup(service: Untrusted, performance: Untrusted) -> Iterator[Child]:
    speedup = performance.of("speedup").number
    if speedup is None:
        why = (
            "the baseline speed at this load is unknown"
            if speculates(service)
            else ("the service runs without speculation")
        )
        yield el("p", f"Not compared: {why}.", class_="empty")
        return
    low, high = performance.of("speedupLow").number, performance.of("speedupHigh").number
    wanted = service.of("status", "guard", "thresholds", "speedup").number
    yield charts.speed(SpeedupInterval(speedup=speedup, low=low, high=high, wanted=wanted))
    if between := numbers.interval(performance):
        yield el("p", f"95 % interval of the speedup: {between}", class_="soft")


def decisions(service: Untrusted, now: datetime) -> Html:
    """The guard's states on a time line, and as a list, the newest first."""
    rows = numbers.history(service.of("status"))
    if not rows:
        return card("Decisions", el("p", "The guard has made no decision yet.", class_="empty"), wide=True)
    timed = [each for each in rows if each.at.time]
    parts: list[Child] = [_band(timed, now)] if timed else []
    return card("Decisions", *parts, el("ol", *(_row(each, now) for each in rows), class_="turns"), wide=True)


def _band(rows: list[numbers.HistoryRow], now: datetime) -> Html:
    """rows: newest first, as the status has them."""
    begins = [each.at.time or now for each in rows]
    seconds = [(end - begin).total_seconds() for begin, end in zip(begins, [now, *begins], strict=False)]
    stretches = [
        StateSpan(label=f"{each.state} {span(length)}", tone=_tone(each.state), seconds=length)
        for each, length in zip(rows, seconds, strict=True)
    ]
    scale = el("p", when(rows[-1].at, now), el("span", "now"), class_="scale soft")
    return join(charts.band(stretches[::-1]), scale)


def _row(each: numbers.HistoryRow, now: datetime) -> Html:
    head = [when(each.at, now), badge(each.state or "?", _tone(each.state))]
    head += [el("span", each.reason, class_="reason")]
    head += [el("span", f"acceptance {each.rate:.2f}", class_="soft")] if each.rate is not None else []
    message = el("p", each.message) if each.message else None
    return el("li", el("div", *head, class_="turn"), message, class_=_tone(each.state))


def _tone(state: str) -> str:
    return numbers.STATE_TONES.get(state, "move")
