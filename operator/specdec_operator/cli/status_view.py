"""A sis as a page for people: what it does, since when, why, and the numbers behind it. Pure."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, Final

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from specdec_operator.cli import status_tables as tables
from specdec_operator.cli import status_words as words
from specdec_operator.cli.found import Found
from specdec_operator.cli.status_words import UNICODE, Glyphs, ago

Row = tuple[str, str | Text]

_GOOD_WHEN_FALSE: Final = ("Stalled", "Reconciling", "Warned")
_SAID_ELSEWHERE: Final = ("Ready", "RolledBack", "GuardPassing", "SpeculationActive")


def page(sis: Mapping[str, Any], now: datetime, glyphs: Glyphs = UNICODE) -> Group:
    """Everything that is known about a sis."""
    found = Found(sis)
    status = found.of("status")
    facts = Table.grid(padding=(0, 2, 0, 0))
    facts.add_column(style="bold", no_wrap=True)
    facts.add_column(ratio=1, overflow="fold")
    for head, said in rows(found, now):
        if said:
            facts.add_row(head, said)
    parts: list[RenderableType] = [_title(found, now), facts]
    parts += tables.thresholds(status, glyphs)
    parts += tables.positions(status, glyphs)
    parts += tables.fewer(found)
    parts += tables.speeds(status, glyphs)
    parts += tables.history(status, now, glyphs)
    return Group(*parts)


def _title(sis: Found, now: datetime) -> Text:
    meta, guard = sis.of("metadata"), sis.of("status", "guard")
    phase = sis.of("status", "phase").text or guard.of("state").text or "new"
    title = Text(f"{meta.of('namespace').text}/{meta.of('name').text}  ", style="bold")
    title.append(phase, style=tables.STYLES.get(phase, ""))
    since = guard.of("since").time
    return title.append(f" for {words.span((now - since).total_seconds())}" if since else "", style="")


def rows(sis: Found, now: datetime) -> Iterator[Row]:
    """What is said about it, heading by heading; empty rows are left out by the page."""
    status, guard = sis.of("status"), sis.of("status", "guard")
    yield "note", Text(words.unseen(sis), style="yellow")
    yield "why", _why(status)
    yield "asked for", words.asked(sis)
    yield "served", words.served(sis)
    yield "ready", _ready(status)
    yield "url", status.of("serving", "url").text
    yield from _decisions(guard, now)
    yield from _judging(sis, guard, now)
    yield from _memory_of(guard, now)
    yield "memory", _kept(status.of("memory"))
    yield from _conditions(status)


def _why(status: Found) -> str:
    """Why it is in its phase, where no other row tells it."""
    guard = status.of("guard")
    message = status.of("message").text
    told = {guard.of(*path, "message").text for path in ((), ("rollback",), ("reduced",))}
    return "" if message in told else ": ".join(filter(None, (status.of("reason").text, message)))


def _decisions(guard: Found, now: datetime) -> Iterator[Row]:
    rollback, reduced, would = guard.of("rollback"), guard.of("reduced"), guard.of("would")
    if rollback.there:
        yield "rolled back", words.because(rollback, now)
    if reduced.there:
        yield "reduced", f"to {words.per_step(reduced.of('tokens')) or 'fewer'}; {words.because(reduced, now)}"
    if would.there:
        yield "would", f"{would.of('action').text or 'act'}; {words.because(would, now)}"


def _judging(sis: Found, guard: Found, now: datetime) -> Iterator[Row]:
    verdict = guard.of("verdict").text
    if verdict:
        said = Text(verdict, style=tables.STYLES.get(verdict, ""))
        said.append(f", {guard.of('reason').text}" if guard.of("reason").text else "", style="")
        yield "verdict", said.append(f": {guard.of('message').text}" if guard.of("message").text else "", style="")
    yield "failures", _failures(sis, guard)
    asked = sis.of("spec", "guard", "mode").text
    yield "guard", {"Observe": "Observe: it changes nothing", "Off": "Off: nothing is judged"}.get(asked, "")
    yield "held", words.held(sis, now) or ("yes" if guard.of("held").flag else "")


def _failures(sis: Found, guard: Found) -> str:
    number, limit = guard.of("failures").whole, sis.of("spec", "guard", "failureLimit").whole
    if not number:
        return ""
    blamed = guard.of("blamed").texts
    of = f" of {limit}" if limit else ""
    return f"{number}{of} failing windows in a row" + (f", pods {', '.join(blamed)}" if blamed else "")


def _memory_of(guard: Found, now: datetime) -> Iterator[Row]:
    """What the guard remembers: rollbacks, tries, restarts, what was good."""
    yield "rollbacks", _tries(guard, now)
    restarts, restarting = guard.of("restarts").whole, guard.of("restarting").texts
    said = [f"{restarts} so far, of pods far below the others"] if restarts else []
    yield "restarts", "; ".join(said + ([f"now: {', '.join(restarting)}"] if restarting else []))
    good = [
        f"{words.good_words(each)}, first {ago(each.of('at'), now) or 'at a time unknown'}"
        for each in guard.of("lastGood").items
        if each.there
    ]
    yield "last good", "\n".join(good)


def _tries(guard: Found, now: datetime) -> str:
    rollbacks, retries = guard.of("rollbacks").whole, guard.of("retries").whole
    said = [f"{rollbacks} so far"] if rollbacks else []
    said += [f"{retries} tried again"] if retries else []
    if (following := guard.of("nextRetry")).time:
        said.append(f"next try {ago(following, now)}, at {following.text}")
    return "; ".join(said)


def _ready(status: Found) -> str:
    ready = next((each for each in status.of("conditions").items if each.of("type").text == "Ready"), Found())
    answer = {"True": "yes", "False": "no", "Unknown": "unknown"}.get(ready.of("status").text, "")
    if answer == "yes" or ready.of("message").text == status.of("message").text:
        return answer
    return ": ".join(filter(None, (answer, ready.of("reason").text, ready.of("message").text)))


def _kept(memory: Found) -> str:
    utilization = memory.of("utilization").number
    share = f"utilization {utilization:.2f}" if utilization is not None else ""
    return "; ".join(filter(None, (share, memory.of("because").text, memory.of("kvPrice").text)))


def _conditions(status: Found) -> Iterator[Row]:
    """The conditions that are not as they should be and that nothing above has told."""
    told = {status.of("message").text, status.of("guard", "message").text}
    for each in status.of("conditions").items:
        kind, state, message = each.of("type").text, each.of("status").text, each.of("message").text
        wrong = state == ("True" if kind in _GOOD_WHEN_FALSE else "False")
        if wrong and kind not in _SAID_ELSEWHERE and message not in told:
            parts = (state if state == "False" else "", each.of("reason").text, message)
            yield kind, Text(": ".join(part for part in parts if part and part != kind), style="yellow")
