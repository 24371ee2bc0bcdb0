"""The fleet as rows: how much attention each sis needs, filtered and sorted as the address asks. Pure."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import IntEnum
from typing import Any, Final, TypeAlias
from urllib.parse import urlencode

from specdec_operator.cli import status_words as words
from specdec_operator.cli.found import Found

MOST_ROWS: Final = 250
"""Rows of one page: about 50 ms of the operator's one thread."""


class Concern(IntEnum):
    """How much attention a service needs, the most first."""

    BROKEN = 0
    """It does not serve, or somebody has to act."""
    OUT = 1
    """It serves, but not the speculation that was asked for."""
    FAILING = 2
    """The newest window speaks against it."""
    UNCLEAR = 3
    """Too little is known to judge."""
    CHANGING = 4
    """Pods are being brought up, or are warming up."""
    FINE = 5
    """All is as asked."""


WORDS: Final = {
    Concern.BROKEN: "broken",
    Concern.OUT: "not as asked",
    Concern.FAILING: "failing",
    Concern.UNCLEAR: "unclear",
    Concern.CHANGING: "changing",
    Concern.FINE: "fine",
}
_MOVING: Final = frozenset({"RollingOut", "WarmingUp", "MeasuringBaseline"})
_NEW: Final = "New"
"""The phase of a sis that no operator has looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One sis. since: when its phase began.

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
class Question:
    """What the address asks for; empty fields ask for all. sort: a name of SORTS. page: from 1."""

    namespace: str = ""
    phase: str = ""
    sort: str = "concern"
    down: bool = False
    page: int = 1

    def address(self) -> str:
        """The query of the address that asks this."""
        usual = Question()
        parts = {"namespace": self.namespace, "phase": self.phase}
        parts |= {"sort": self.sort} if self.sort != usual.sort else {}
        parts |= {"order": "down"} if self.down else {}
        parts |= {"page": str(self.page)} if self.page > 1 else {}
        return "?" + urlencode({name: value for name, value in parts.items() if value})


_Order: TypeAlias = Callable[[Row], Any]


def _number(value: float | None) -> tuple[bool, float]:
    return value is None, value or 0.0


SORTS: Final[Mapping[str, _Order]] = {
    "concern": lambda row: row.concern,
    "name": lambda row: (row.namespace, row.name),
    "phase": lambda row: row.phase,
    "served": lambda row: row.served,
    "acceptance": lambda row: _number(row.rate),
    "speedup": lambda row: _number(row.speedup),
    "since": lambda row: _number(row.since.timestamp() if row.since else None),
}
"""By what the rows can be sorted. What is not known comes last, or first when turned round."""


def question_of(query: Mapping[str, str]) -> Question:
    """What the query of an address asks; what cannot be read asks for nothing."""
    page, sort = query.get("page", ""), query.get("sort", "")
    return Question(
        namespace=query.get("namespace", ""),
        phase=query.get("phase", ""),
        sort=sort if sort in SORTS else Question().sort,
        down=query.get("order") == "down",
        page=max(1, int(page)) if page.isascii() and page.isdigit() and len(page) < 6 else 1,
    )


def row_of(body: Mapping[str, Any]) -> Row:
    """One sis in a row."""
    sis = Found(body)
    meta, status = sis.of("metadata"), sis.of("status")
    guard = status.of("guard")
    reason, message = status.of("reason").text, status.of("message").text
    measured = status if status.of("serving", "speculating").flag else Found()
    return Row(
        namespace=meta.of("namespace").text,
        name=meta.of("name").text,
        phase=status.of("phase").text or _NEW,
        concern=concern_of(sis),
        why=": ".join(filter(None, (reason, message))),
        served=_served(status.of("serving")),
        rate=measured.of("acceptance", "rate").number,
        wanted=guard.of("thresholds", "acceptanceRate").number,
        speedup=measured.of("performance", "speedup").number,
        since=guard.of("since").time,
    )


def concern_of(sis: Found) -> Concern:
    """How much attention a sis needs."""
    status, guard = sis.of("status"), sis.of("status", "guard")
    phase, verdict = status.of("phase").text, guard.of("verdict").text
    said = {each.of("type").text: each.of("status").text for each in status.of("conditions").items}
    if phase == "Stalled" or said.get("Stalled") == "True" or (said.get("Ready") == "False" and phase not in _MOVING):
        return Concern.BROKEN
    if phase == "Responding" or any(guard.of(name).there for name in ("rollback", "reduced")):
        return Concern.OUT
    if guard.of("would").there or verdict == "Fail":
        return Concern.FAILING
    if phase in _MOVING or not status.there:
        return Concern.CHANGING
    return Concern.UNCLEAR if verdict == "Inconclusive" else Concern.FINE


def _served(serving: Found) -> str:
    if not serving.there:
        return ""
    if not serving.of("speculating").flag:
        return "plain"
    return ", ".join(filter(None, (serving.of("method").text, words.per_step(serving.of("tokens")))))


def chosen(rows: Iterable[Row], asked: Question) -> list[Row]:
    """The rows that are asked for, in order; the same order for those that are equal."""
    found = [row for row in rows if asked.namespace in ("", row.namespace) and asked.phase in ("", row.phase)]
    return sorted(found, key=SORTS[asked.sort], reverse=asked.down)


def counts(rows: Iterable[Row]) -> list[tuple[str, int, Concern]]:
    """How many services are in each phase, with the worst concern in it; the worst phase first."""
    seen = list(rows)
    number = Counter(row.phase for row in seen)
    worst = {phase: min(row.concern for row in seen if row.phase == phase) for phase in number}
    return [(phase, number[phase], worst[phase]) for phase in sorted(number, key=lambda each: (worst[each], each))]
