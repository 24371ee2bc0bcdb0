"""The numbers of a sis as tables and bars: thresholds, positions, fewer tokens, speed by load, history. Pure.

Without frames, in at most 80 columns: a pipe and a narrow terminal show the same.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import Final

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from specdec_operator.cli.found import Found
from specdec_operator.cli.status_words import Glyphs, ago

_BAR: Final = 40
STYLES: Final = {
    "Pass": "green",
    "Fail": "red",
    "Watching": "green",
    "Serving": "green",
    "RolledBack": "yellow",
    "Responding": "yellow",
    "Stalled": "bold red",
}
"""Colours of verdicts and phases; what is not here has none."""


def titled(title: str, body: RenderableType) -> Group:
    """A part of the page under its title."""
    return Group(Text(), Text(title, style="bold"), Padding(body, (0, 0, 0, 2)))


def thresholds(status: Found, glyphs: Glyphs) -> Iterator[RenderableType]:
    """What the last measured window showed beside what is asked of it."""
    wanted = status.of("guard", "thresholds")
    acceptance, performance = status.of("acceptance"), status.of("performance")
    table = _table("", "measured", "wanted", "")
    least, most = glyphs.least, glyphs.most
    rate, length = acceptance.of("rate"), acceptance.of("length")
    _compare(table, "acceptance rate", rate, wanted.of("acceptanceRate"), least)
    _compare(table, "acceptance length", length, wanted.of("acceptanceLength"), least)
    _compare(table, "speedup", performance.of("speedup"), wanted.of("speedup"), least, between=_between(performance))
    time, limit = performance.of("timePerOutputTokenMs"), wanted.of("timePerOutputTokenMs")
    _compare(table, "ms per output token", time, limit, most, digits=1)
    drafted = acceptance.of("draftTokens")
    _compare(table, "drafted tokens", drafted, wanted.of("minDraftTokens"), least, digits=0)
    if table.row_count:
        yield titled(f"Measured and wanted{_window(acceptance)}", table)


def positions(status: Found, glyphs: Glyphs) -> Iterator[RenderableType]:
    """A bar for each position of the draft: how often its token was accepted."""
    shares = [each.number for each in status.of("acceptance", "perPosition").items]
    table = _table("position", "accepted", "")
    for index, share in enumerate(shares, start=1):
        if share is not None:
            length = round(min(1.0, max(0.0, share)) * _BAR)
            table.add_row(str(index), f"{share:.2f}", Text(glyphs.bar * length, style="cyan"))
    if table.row_count:
        yield titled("Acceptance by position", table)


def fewer(sis: Found) -> Iterator[RenderableType]:
    """What fewer tokens per step would have done, and what the numbers speak for."""
    guard = sis.of("status", "guard")
    advice = guard.of("recommendation")
    table = _table("K", "rate", "length", "speedup", "")
    for row in guard.of("fewerTokens").items:
        tokens = row.of("tokens").whole
        if tokens is not None:
            passes = "passes" if row.of("passes").flag else "fails"
            marks = ", ".join([passes, *_marks(tokens, sis, advice)])
            style = "green" if row.of("passes").flag else "red"
            table.add_row(
                str(tokens), *(_number(row.of(name)) for name in ("rate", "length", "speedup")), marks, style=style
            )
    said = Text(f"recommended: {advice.of('message').text}") if advice.of("message").text else None
    if table.row_count:
        yield titled(
            "Fewer tokens per step, by the same window (speedup: an estimate)", Group(table, *filter(None, [said]))
        )
    elif said:
        yield Group(Text(), said)


def _marks(tokens: int, sis: Found, advice: Found) -> Iterator[str]:
    if tokens == sis.of("status", "serving", "tokens").whole:
        yield "in use"
    if tokens == sis.of("spec", "speculation", "tokens").whole:
        yield "asked for"
    if tokens == advice.of("tokens").whole:
        yield "recommended"


def speeds(status: Found, glyphs: Glyphs) -> Iterator[RenderableType]:
    """The plain service by load, and the last window at its own."""
    performance = status.of("performance")
    table = _table("load", "plain ms per token", "plain tokens/s", "requests", "now ms")
    loads = [each for each in status.of("guard", "baseline").items if each.of("load").whole is not None]
    for row in sorted(loads, key=lambda each: each.of("load").whole or 0):
        here = row.of("load").whole == performance.of("load").whole
        now = _number(performance.of("timePerOutputTokenMs"), 1) if here else ""
        error = row.of("errorMs").number
        plain = _number(row.of("timePerOutputTokenMs"), 1) + (
            f" {glyphs.about} {error:.1f}" if error is not None else ""
        )
        speed = _number(row.of("tokensPerSecond"), 0)
        table.add_row(row.of("load").text, plain, speed, _number(row.of("requests"), 0), now)
    parts: list[RenderableType] = [table] if table.row_count else []
    if performance.there:
        parts.append(Text(_pace(performance)))
    if parts:
        yield titled("Speed against the plain service (load: running requests per pod)", Group(*parts))


def _pace(performance: Found) -> str:
    """The last window's speed in a sentence."""
    said = [f"now {_number(performance.of('timePerOutputTokenMs'), 1)} ms per output token"]
    said += [f"{_number(performance.of('tokensPerSecond'), 0)} tokens/s over all pods"]
    said += [
        f"{_number(performance.of('requests'), 0)} requests ended, most at load {performance.of('load').text or '?'}"
    ]
    speedup = performance.of("speedup").number
    return "; ".join(said) + (f"; speedup {speedup:.2f}{_between(performance)}" if speedup is not None else "")


def history(status: Found, now: datetime, glyphs: Glyphs) -> Iterator[RenderableType]:
    """The turns, newest first; the acceptance at each of them as a sparkline, oldest first."""
    turns = status.of("history").items
    lines: list[RenderableType] = []
    told = ""
    for turn in turns:
        state, message, rate = turn.of("state").text, turn.of("message").text, turn.of("rate").number
        line = Text(f"{ago(turn.of('at'), now):>10}  ").append(f"{state:<18}", style=STYLES.get(state, ""))
        lines.append(line.append(f"{'' if rate is None else f'{rate:.2f}':<6}{turn.of('reason').text}"))
        if message and message != told:
            lines.append(Padding(Text(message, style="dim"), (0, 0, 0, 12)))
        told = message
    if turns:
        yield titled(_history_title(turns, glyphs), Group(*lines))


def _history_title(turns: tuple[Found, ...], glyphs: Glyphs) -> str:
    rates = [rate for turn in reversed(turns) if (rate := turn.of("rate").number) is not None]
    return "History" + (f"; acceptance, oldest first: {sparkline(rates, glyphs)}" if len(rates) > 1 else "")


def sparkline(rates: list[float], glyphs: Glyphs) -> str:
    """Shares from 0 to 1, one sign each."""
    top = len(glyphs.steps) - 1
    return "".join(glyphs.steps[round(min(1.0, max(0.0, rate)) * top)] for rate in rates)


def _compare(
    table: Table, name: str, value: Found, limit: Found, sign: str, *, digits: int = 2, between: str = ""
) -> None:
    """A row, where there is something to say. It compares the numbers alone; the verdict knows about chance."""
    measured, wanted = value.number, limit.number
    if measured is None and wanted is None:
        return
    said = f"{sign} {wanted:.{digits}f}" if wanted is not None else ""
    note, style = "", ""
    if measured is not None and wanted is not None:
        under = measured < wanted
        good = not under if sign in "≥>=" else measured <= wanted
        note, style = ("", "green") if good else ("below" if under else "above", "red")
    table.add_row(name, Text(_number(value, digits) + between, style=style), said, Text(note, style=style))


def _between(performance: Found) -> str:
    low, high = performance.of("speedupLow").number, performance.of("speedupHigh").number
    return f" ({low:.2f} to {high:.2f})" if low is not None and high is not None else ""


def _window(acceptance: Found) -> str:
    seconds, pods = acceptance.of("windowSeconds").whole, acceptance.of("pods").whole
    said = [f"{seconds} s"] if seconds is not None else []
    said += [f"{pods} pod{'' if pods == 1 else 's'}"] if pods is not None else []
    return f" (acceptance: last measured window, {', '.join(said)})" if said else ""


def _number(value: Found, digits: int = 2) -> str:
    return "-" if value.number is None else f"{value.number:.{digits}f}"


def _table(*heads: str) -> Table:
    table = Table(*heads, box=None, pad_edge=False, header_style="dim", show_header=any(heads))
    for column in table.columns:
        column.overflow = "fold"
    return table
