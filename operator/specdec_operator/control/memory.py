"""What the loop keeps in memory about one sis. All of it can be rebuilt; decisions live in the status."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from specdec_operator.control.downloads import Downloads
from specdec_operator.control.events import Event
from specdec_operator.errors import Invalid
from specdec_operator.guard.evidence import Evidence
from specdec_operator.guard.state import State
from specdec_operator.guard.verdict import Verdict
from specdec_operator.guard.window import Window


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied:
    """The InferenceService as we applied it last: digest of the manifest, and the generation that it then had."""

    digest: str
    generation: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """A manifest that the API server refused: its digest, the server's words, and when."""

    digest: str
    error: Invalid
    at: float


@dataclass(slots=True, kw_only=True)
class Memory:
    """One sis between two turns of its loop.

    state: the newest state; durable once `written` holds it. next_look: when metrics are due, epoch seconds.
    silent: pods that did not answer at the last look. unsent: Events of turns whose writes failed.
    """

    state: State | None = None
    window: Window | None = None
    next_look: float = 0.0
    silent: int = 0
    verdict: Verdict | None = None
    evidence: Evidence | None = None
    applied: Applied | None = None
    refused: Refused | None = None
    downloads: Downloads = field(default_factory=Downloads)
    unsent: tuple[Event, ...] = ()
    written: Mapping[str, Any] | None = None
    written_at: float = 0.0
