"""What the loop keeps in memory about one sis. All of it can be rebuilt; decisions live in the status."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from specdec_operator.api.guard import Guard
from specdec_operator.control.contest import Contest
from specdec_operator.control.downloads import Downloads
from specdec_operator.control.events import Event
from specdec_operator.errors import Invalid
from specdec_operator.guard.judge import Judged
from specdec_operator.guard.state import State
from specdec_operator.guard.thresholds import Thresholds
from specdec_operator.guard.watching import Watched
from specdec_operator.serving.hindrance import Hindrance
from specdec_operator.serving.marks import Marks

_SHOWN_WITHIN: Final = 1.0
"""Seconds within which the watch tells of our own write."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied:
    """The InferenceService as we applied it last: digest and marks of the manifest, the generation that it then had."""

    digest: str
    generation: int
    marks: Marks


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """A manifest that the API server refused: its digest, the server's words, and when."""

    digest: str
    error: Invalid
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Between:
    """What a turn that only reads needs of the whole one before. revision: of the pods that are read.

    until: when something else than a reading is due, epoch seconds.
    """

    guard: Guard
    limits: Thresholds
    revision: str
    until: float


@dataclass(slots=True, kw_only=True)
class Memory:
    """One sis between two turns of its loop.

    followed: generation and spec of the last one that could be planned.
    state: the newest state; durable once `written` holds it.
    watched: the open window; judged: the last closed one; subject: the state's subject that both are about.
    silent: pods that did not answer at the last look. unsent: Events whose status is not
    written yet; told: those whose status is, and that wait for the end of the turn.
    hindrance: why the InferenceService could not be applied when that was tried last. contest: others who change it.
    waits: whether its rollout waits for its turn. between: what turns need that only read.
    complaint: what the last turn failed with, as it is in the log.
    written, written_at, version: the status as it was written last, when, and the version of the sis that has it.
    """

    followed: tuple[int, Mapping[str, Any]] | None = None
    state: State | None = None
    watched: Watched | None = None
    judged: Judged | None = None
    subject: str = ""
    silent: int = 0
    applied: Applied | None = None
    refused: Refused | None = None
    hindrance: Hindrance | None = None
    contest: Contest = field(default_factory=Contest)
    waits: bool = False
    between: Between | None = None
    complaint: str = ""
    downloads: Downloads = field(default_factory=Downloads)
    unsent: tuple[Event, ...] = ()
    told: tuple[Event, ...] = ()
    written: Mapping[str, Any] | None = None
    written_at: float = 0.0
    version: int = 0

    def take_told(self) -> tuple[Event, ...]:
        """The Events that are to be sent now."""
        told, self.told = self.told, ()
        return told

    def lost(self, shown: Mapping[str, Any], now: float) -> bool:
        """Whether somebody took parts out of the status that was written. shown: as the watch told of it last."""
        return now - self.written_at >= _SHOWN_WITHIN and bool((self.written or {}).keys() - shown.keys())
