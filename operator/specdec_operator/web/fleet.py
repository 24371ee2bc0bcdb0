"""The fleet as rows: how much attention each service needs, filtered and sorted as the address asks. Pure."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import IntEnum
from typing import Any, Final
from urllib.parse import urlencode

from specdec_operator.display.describe import joined, method_and_tokens
from specdec_operator.display.facts import conditions
from specdec_operator.display.untrusted import Untrusted

MOST_ROWS: Final = 250
"""Rows of one page: about 50 ms of the operator's one thread."""


class Concern(IntEnum):
    """How much attention a service needs, the most first. word: its label on pages. tone: class of its colour."""

    word: str
    tone: str

    def __new__(cls, order: int, word: str, tone: str) -> "Concern":
        """One that is as urgent as its place in the order."""
        made = int.__new__(cls, order)
        made._value_, made.word, made.tone = order, word, tone
        return made

    BROKEN = 0, "broken", "bad"
    """It does not serve, or the user must act."""
    OUT = 1, "not as requested", "warn"
    """It serves, but not the requested speculation."""
    FAILING = 2, "failing", "warn"
    """The newest window failed."""
    UNCLEAR = 3, "unclear", "dim"
    """Too little data for a verdict."""
    CHANGING = 4, "changing", "move"
    """Pods are being brought up, or are warming up."""
    FINE = 5, "fine", "good"
    """All is as asked."""


_MOVING: Final = frozenset({"RollingOut", "WarmingUp", "MeasuringBaseline"})
NEW: Final = "New"
"""The phase of a service that no operator has looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetRow:
    """One service. since: when its phase began.

    rate, wanted: accepted / drafted tokens, measured and asked for; they and speedup only while it speculates.
    """

    namespace: str
    name: str
    phase: str
    concern: Concern
    why: str
    served: str
    rate: float | None
    wanted: float | None
    speedup: float | None
    since: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetFilter:
    """What the address asks for; empty fields ask for all. sort: a name of SORTS. page: from 1."""

    namespace: str = ""
    phase: str = ""
    sort: str = "concern"
    down: bool = False
    page: int = 1

    def address(self) -> str:
        """The query of the address that asks this."""
        parts = {"namespace": self.namespace, "phase": self.phase}
        parts |= {"sort": "" if self.sort == FleetFilter().sort else self.sort, "order": "down" if self.down else ""}
        parts |= {"page": str(self.page) if self.page > 1 else ""}
        return "?" + urlencode({name: value for name, value in parts.items() if value})


def _number(value: float | None) -> tuple[bool, float]:
    return value is None, value or 0.0


SORTS: Final[Mapping[str, Callable[[FleetRow], Any]]] = {
    "concern": lambda row: row.concern,
    "name": lambda row: (row.namespace, row.name),
    "phase": lambda row: row.phase,
    "served": lambda row: row.served,
    "acceptance": lambda row: _number(row.rate),
    "speedup": lambda row: _number(row.speedup),
    "since": lambda row: _number(row.since.timestamp() if row.since else None),
}
"""By what the rows can be sorted. What is not known comes last, or first when turned round."""


def filter_of(query: Mapping[str, str]) -> FleetFilter:
    """What the query of an address asks; what cannot be read asks for nothing."""
    page, sort = query.get("page", ""), query.get("sort", "")
    return FleetFilter(
        namespace=query.get("namespace", ""),
        phase=query.get("phase", ""),
        sort=sort if sort in SORTS else FleetFilter().sort,
        down=query.get("order") == "down",
        page=max(1, int(page)) if page.isascii() and page.isdigit() and len(page) < 6 else 1,
    )


def row_of(body: Mapping[str, Any]) -> FleetRow:
    """One service in a row."""
    service = Untrusted(body)
    meta, status = service.of("metadata"), service.of("status")
    guard, serving = status.of("guard"), status.of("serving")
    measured = status if serving.of("speculating").flag else Untrusted()
    return FleetRow(
        namespace=meta.of("namespace").text,
        name=meta.of("name").text,
        phase=status.of("phase").text or NEW,
        concern=concern_of(service),
        why=joined(": ", status.of("reason").text, status.of("message").text),
        served=method_and_tokens(status) if serving.of("speculating").flag else "plain" if serving.there else "",
        rate=measured.of("acceptance", "rate").number,
        wanted=guard.of("thresholds", "acceptanceRate").number,
        speedup=measured.of("performance", "speedup").number,
        since=guard.of("since").time,
    )


def concern_of(service: Untrusted) -> Concern:
    """How much attention a service needs."""
    status, guard = service.of("status"), service.of("status", "guard")
    phase, verdict = status.of("phase").text, guard.of("verdict").text
    state = {each.type: each.status for each in conditions(status)}
    if phase == "Stalled" or state.get("Stalled") == "True" or (state.get("Ready") == "False" and phase not in _MOVING):
        return Concern.BROKEN
    if phase == "Responding" or any(guard.of(name).there for name in ("rollback", "reduced", "dial")):
        return Concern.OUT
    if guard.of("would").there or verdict == "Fail":
        return Concern.FAILING
    if phase in _MOVING or not status.there:
        return Concern.CHANGING
    return Concern.UNCLEAR if verdict == "Inconclusive" else Concern.FINE


def chosen(rows: Iterable[FleetRow], wanted: FleetFilter) -> list[FleetRow]:
    """The rows that are asked for, in order; the same order for those that are equal."""
    matching = (row for row in rows if wanted.namespace in ("", row.namespace) and wanted.phase in ("", row.phase))
    return sorted(matching, key=SORTS[wanted.sort], reverse=wanted.down)


def counts(rows: Iterable[FleetRow]) -> list[tuple[str, int, Concern]]:
    """How many services are in each phase, with the worst concern in it; the worst phase first."""
    every = list(rows)
    number = Counter(row.phase for row in every)
    worst = {phase: min(row.concern for row in every if row.phase == phase) for phase in number}
    return [(phase, number[phase], worst[phase]) for phase in sorted(number, key=lambda each: (worst[each], each))]
