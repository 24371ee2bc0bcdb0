"""The pictures of a service's page, each with the words around it. Pure."""

from collections.abc import Iterator
from datetime import datetime
from typing import Final

from specdec_operator.cli import status_words as words
from specdec_operator.cli.found import Found
from specdec_operator.web import charts
from specdec_operator.web.charts import Speed, Stretch
from specdec_operator.web.layout import badge, card, table, when
from specdec_operator.web.markup import Child, Html, el, join
from specdec_operator.web.service_tables import PAST, speculates

_STATES: Final = {"Watching": "good", "Serving": "good", "RolledBack": "warn", "Responding": "warn", "Stalled": "bad"}
"""Class of the colour of a state of the guard; the others are on their way."""


def acceptance(sis: Found) -> Html:
    """How often the draft's token was accepted, position by position."""
    measured = sis.of("status", "acceptance")
    shares = [each.number for each in measured.of("perPosition").items]
    known = [share for share in shares if share is not None]
    if not known:
        return card("Acceptance by position", el("p", "No window with enough drafted tokens yet.", class_="empty"))
    wanted = sis.of("status", "guard", "thresholds", "acceptanceRate").number
    picture = charts.positions(known, measured.of("rate").number, wanted)
    past = None if speculates(sis) else el("p", PAST, class_="soft")
    return card("Acceptance by position", picture, el("p", _window(measured), class_="soft"), past)


def _window(measured: Found) -> str:
    seconds, pods, length = measured.of("windowSeconds").whole, measured.of("pods").whole, measured.of("length").number
    drafted = measured.of("draftTokens").whole
    said = [f"{length:.2f} tokens per step of the target" if length is not None else ""]
    said += [f"{drafted} drafted tokens" if drafted is not None else "", f"{seconds} s" if seconds is not None else ""]
    said += [f"{pods} pod{'' if pods == 1 else 's'}" if pods is not None else ""]
    return ", ".join(filter(None, said))


def speed(sis: Found) -> Html:
    """How fast it is against the plain service at the same load, and how fast that is by load."""
    performance = sis.of("status", "performance")
    compared = performance.of("speedup").number is not None
    past = compared and not speculates(sis)
    parts = [
        *_interval(sis, performance),
        *_pace(performance, past=past),
        _by_load(sis, Found() if past else performance),
    ]
    return card("Speed against the plain service", *parts)


def _interval(sis: Found, performance: Found) -> Iterator[Child]:
    speedup = performance.of("speedup").number
    if speedup is None:
        said = "the plain service's speed at this load is not known" if speculates(sis) else "the service runs plain"
        yield el("p", f"Not compared: {said}.", class_="empty")
    else:
        low, high = performance.of("speedupLow").number, performance.of("speedupHigh").number
        wanted = sis.of("status", "guard", "thresholds", "speedup").number
        yield charts.speed(Speed(speedup=speedup, low=low, high=high, wanted=wanted))
        if low is not None and high is not None:
            yield el("p", f"95 % interval of the speedup: {low:.2f} to {high:.2f}", class_="soft")


def _pace(performance: Found, *, past: bool) -> Iterator[Html]:
    """The last measured window in words. past: whether something else is served now."""
    time, tokens = performance.of("timePerOutputTokenMs").number, performance.of("tokensPerSecond").number
    said = [f"{time:.1f} ms per output token" if time is not None else ""]
    said += [f"{tokens:.0f} tokens/s over all pods" if tokens is not None else ""]
    said += [f"load {performance.of('load').text}" if performance.of("load").text else ""]
    if told := ", ".join(filter(None, said)):
        yield el("p", f"Last measured: {told}", class_="soft")
    if past:
        yield el("p", PAST, class_="soft")


def _by_load(sis: Found, performance: Found) -> Child:
    loads = [each for each in sis.of("status", "guard", "baseline").items if each.of("load").whole is not None]
    rows = [_load(each, performance) for each in sorted(loads, key=lambda each: each.of("load").whole or 0)]
    heads = ("Load", "Plain ms per token", "Plain tokens/s", "Now ms")
    return table("The plain service by load: running requests per pod", heads, rows) if rows else None


def _load(row: Found, performance: Found) -> Html:
    here = row.of("load").whole == performance.of("load").whole
    plain, error, tokens = (row.of(name).number for name in ("timePerOutputTokenMs", "errorMs", "tokensPerSecond"))
    now = performance.of("timePerOutputTokenMs").number if here else None
    cells = (
        "-" if plain is None else f"{plain:.1f}" + (f" ± {error:.1f}" if error is not None else ""),
        "-" if tokens is None else f"{tokens:.0f}",
        "" if now is None else f"{now:.1f}",
    )
    return el("tr", el("th", row.of("load").text, scope="row"), *(el("td", each, class_="number") for each in cells))


def decisions(sis: Found, now: datetime) -> Html:
    """The guard's states on a time line, and in words, the newest first."""
    turns = [each for each in sis.of("status", "history").items if each.there]
    if not turns:
        return card("Decisions", el("p", "The guard has decided nothing yet.", class_="empty"), wide=True)
    timed = [each for each in turns if each.of("at").time]
    parts: list[Child] = [_band(timed, now)] if timed else []
    return card("Decisions", *parts, el("ol", *_turns(turns, now), class_="turns"), wide=True)


def _band(turns: list[Found], now: datetime) -> Html:
    """turns: newest first, as the status has them."""
    ends = [now, *(each.of("at").time or now for each in turns)]
    stretches = [
        Stretch(
            said=f"{turn.of('state').text} {words.span((end - (turn.of('at').time or end)).total_seconds())}",
            tone=_STATES.get(turn.of("state").text, "move"),
            seconds=(end - (turn.of("at").time or end)).total_seconds(),
        )
        for turn, end in zip(turns, ends, strict=False)
    ]
    scale = el("p", when(turns[-1].of("at"), now), el("span", "now"), class_="scale soft")
    return join(charts.band(stretches[::-1]), scale)


def _turns(turns: list[Found], now: datetime) -> Iterator[Html]:
    told = ""
    for turn in turns:
        state, message, rate = turn.of("state").text, turn.of("message").text, turn.of("rate").number
        tone = _STATES.get(state, "move")
        head = [
            when(turn.of("at"), now),
            badge(state or "?", tone),
            el("span", turn.of("reason").text, class_="reason"),
        ]
        head += [el("span", f"acceptance {rate:.2f}", class_="soft")] if rate is not None else []
        said = el("p", message) if message and message != told else None
        yield el("li", el("div", *head, class_="turn"), said, class_=tone)
        told = message
