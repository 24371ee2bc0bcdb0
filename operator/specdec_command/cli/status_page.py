"""A service as a page for a terminal: what it does, since when, why, and the numbers behind it. Pure.

Without frames, in at most 80 columns: a pipe and a narrow terminal show the same.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, Final

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from specdec_operator.display import numbers
from specdec_operator.display.describe import UNICODE, Glyphs, ago, joined, not_observed, span
from specdec_operator.display.facts import conditions, facts
from specdec_operator.display.untrusted import Untrusted

Row = tuple[str, str | Text]

TOLD_IN_ROWS: Final = ("Ready", "RolledBack", "GuardPassing", "SpeculationActive", "Held")
"""Conditions that have a row of their own under another heading."""
_BEFORE_VERDICT: Final = (
    *("requested", "served", "ready", "url", "rolling back", "rolled back", "dialled", "reduced", "lowered", "would"),
    "comparing",
)
_AFTER_VERDICT: Final = (
    *("costs", "failures", "regret", "saved", "dips", "guard", "held", "rollbacks", "restarts", "last good"),
    *("memory", "device", "KV cache"),
)
_STYLES: Final = {"good": "green", "warn": "yellow", "bad": "bold red"}
_VERDICTS: Final = {"Pass": "green", "Fail": "red"}
_BAR: Final = 40


def page(body: Mapping[str, Any], now: datetime, glyphs: Glyphs = UNICODE) -> Group:
    """Everything that is known about a service."""
    service = Untrusted(body)
    status = service.of("status")
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column(ratio=1, overflow="fold")
    for head, text in _rows(service, now):
        if text:
            grid.add_row(head, text)
    parts: list[RenderableType] = [_title(service, now), grid]
    parts += _thresholds(status, glyphs)
    parts += _positions(status, glyphs)
    parts += _fewer_tokens(service)
    parts += _speeds(status, glyphs)
    parts += _compared(status)
    parts += _history(status, now, glyphs)
    return Group(*parts)


def _title(service: Untrusted, now: datetime) -> Text:
    meta, guard = service.of("metadata"), service.of("status", "guard")
    phase = service.of("status", "phase").text or guard.of("state").text or "new"
    since = guard.of("since").time
    length = f" for {span((now - since).total_seconds())}" if since else ""
    name = f"{meta.of('namespace').text}/{meta.of('name').text}  "
    return Text.assemble(name, (phase, _style(phase)), length, style="bold")


def _style(state: str) -> str:
    return _STYLES.get(numbers.STATE_TONES.get(state, ""), "")


def _rows(service: Untrusted, now: datetime) -> Iterator[Row]:
    """Heading by heading; empty rows are left out by the page."""
    status, rows = service.of("status"), facts(service, now)
    yield "note", Text(not_observed(service), style="yellow")
    yield "why", _why(status)
    yield from ((head, rows.get(head, "")) for head in _BEFORE_VERDICT)
    yield "verdict", _verdict(status.of("guard"))
    yield from ((head, rows.get(head, "")) for head in _AFTER_VERDICT)
    yield from _conditions(status)


def _why(status: Untrusted) -> str:
    """Why it is in its phase, if no other row shows it."""
    guard = status.of("guard")
    message = status.of("message").text
    shown = {guard.of(*path, "message").text for path in ((), ("rollback",), ("dial",), ("reduced",), ("lowered",))}
    return "" if message in shown else joined(": ", status.of("reason").text, message)


def _verdict(guard: Untrusted) -> Text:
    verdict, reason, message = (guard.of(name).text for name in ("verdict", "reason", "message"))
    words = joined(": ", joined(", ", verdict, reason), message) if verdict else ""
    return Text(words, style=_VERDICTS.get(verdict, ""))


def _conditions(status: Untrusted) -> Iterator[Row]:
    """The conditions that are not as they should be and that no row above has shown."""
    shown = {status.of("message").text, status.of("guard", "message").text}
    for each in conditions(status):
        if each.good is False and each.type not in TOLD_IN_ROWS and each.message not in shown:
            parts = (each.status if each.status == "False" else "", each.reason, each.message)
            yield each.type, Text(joined(": ", *(part for part in parts if part != each.type)), style="yellow")


def _titled(title: str, body: RenderableType) -> Group:
    """A part of the page under its title."""
    return Group(Text(), Text(title, style="bold"), Padding(body, (0, 0, 0, 2)))


def _thresholds(status: Untrusted, glyphs: Glyphs) -> Iterator[RenderableType]:
    table = _table("", "measured", "wanted", "")
    between = numbers.interval(status.of("performance"))
    for row in numbers.thresholds(status):
        compared = row.measured.number is not None and row.wanted.number is not None
        style = ("red" if row.missed else "green") if compared else ""
        measured = numbers.number(row.measured, row.digits)
        measured += f" ({between})" if between and row.name == "Speedup" else ""
        note = Text(row.note, style=style)
        table.add_row(row.name.lower(), Text(measured, style=style), row.limit(glyphs.least, glyphs.most), note)
    if table.row_count:
        window = numbers.window_size(status.of("acceptance"))
        yield _titled(f"Measured and limits{f' (acceptance: last measured window, {window})' if window else ''}", table)


def _positions(status: Untrusted, glyphs: Glyphs) -> Iterator[RenderableType]:
    """A bar for each position of the draft: how often its token was accepted."""
    table = _table("position", "accepted", "")
    for index, each in enumerate(status.of("acceptance", "perPosition").items, start=1):
        if (share := each.number) is not None:
            length = round(min(1.0, max(0.0, share)) * _BAR)
            table.add_row(str(index), f"{share:.2f}", Text(glyphs.bar * length, style="cyan"))
    if table.row_count:
        yield _titled("Acceptance by position", table)


def _fewer_tokens(service: Untrusted) -> Iterator[RenderableType]:
    """What fewer tokens per step would have done, and what the numbers recommend."""
    table = _table("K", "rate", "length", "speedup", "")
    for row in numbers.fewer_tokens(service):
        style = "yellow" if row.passes is None else "green" if row.passes else "red"
        table.add_row(row.tokens, *row.numbers, ", ".join((row.outcome, *row.marks)), style=style)
    message = service.of("status", "guard", "recommendation", "message").text
    advice = [Text(f"recommended: {message}")] if message else []
    if table.row_count:
        yield _titled("Fewer tokens per step, estimated from the same window", Group(table, *advice))
    elif advice:
        yield Group(Text(), *advice)


def _speeds(status: Untrusted, glyphs: Glyphs) -> Iterator[RenderableType]:
    """The baseline by load, and the last window at its own."""
    performance = status.of("performance")
    table = _table("load", "baseline ms per token", "baseline tokens/s", "requests", "now ms")
    for row in numbers.loads(status, performance, glyphs.about):
        table.add_row(*row)
    parts: list[RenderableType] = [table] if table.row_count else []
    if performance.there:
        between, speedup = numbers.interval(performance), performance.of("speedup").number
        compared = f"; speedup {speedup:.2f}{f' ({between})' if between else ''}" if speedup is not None else ""
        parts.append(Text(f"now {numbers.speed(performance)}{compared}"))
    if parts:
        yield _titled("Speed compared with the baseline (load: running requests per pod)", Group(*parts))


def _compared(status: Untrusted) -> Iterator[RenderableType]:
    """The result so far of the windows with baseline pods."""
    table = _table("measure", "value", "95 % interval", "limit", "evidence", "windows")
    for row in numbers.compared(status):
        cells = (row.measure, row.value, row.interval, row.limit, row.evidence, row.windows)
        table.add_row(*cells, style="red" if row.convicts else None)
    if table.row_count:
        yield _titled("Compared with baseline pods, at the same time (evidence: standard errors past the limit)", table)


def _history(status: Untrusted, now: datetime, glyphs: Glyphs) -> Iterator[RenderableType]:
    """The states of the guard, newest first; the acceptance at each of them as a sparkline, oldest first."""
    rows = numbers.history(status)
    lines: list[RenderableType] = []
    for row in rows:
        line = Text(f"{ago(row.at, now):>10}  ").append(f"{row.state:<18}", style=_style(row.state))
        lines.append(line.append(f"{'' if row.rate is None else f'{row.rate:.2f}':<6}{row.reason}"))
        if row.message:
            lines.append(Padding(Text(row.message, style="dim"), (0, 0, 0, 12)))
    rates = [row.rate for row in reversed(rows) if row.rate is not None]
    title = "History" + (f"; acceptance, oldest first: {_sparkline(rates, glyphs)}" if len(rates) > 1 else "")
    if rows:
        yield _titled(title, Group(*lines))


def _sparkline(rates: list[float], glyphs: Glyphs) -> str:
    """Shares from 0 to 1, one sign each."""
    top = len(glyphs.steps) - 1
    return "".join(glyphs.steps[round(min(1.0, max(0.0, rate)) * top)] for rate in rates)


def _table(*heads: str) -> Table:
    table = Table(*heads, box=None, pad_edge=False, header_style="dim", show_header=any(heads))
    for column in table.columns:
        column.overflow = "fold"
    return table
