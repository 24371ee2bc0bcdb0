"""What the loop keeps in memory about one sis. All of it can be rebuilt; decisions live in the status."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from specdec_operator.control.downloads import Downloads
from specdec_operator.control.events import Event
from specdec_operator.control.sis import Sis
from specdec_operator.errors import Invalid
from specdec_operator.guard.judge import Judged
from specdec_operator.guard.state import State
from specdec_operator.guard.watching import Watched
from specdec_operator.serving.hindrance import Hindrance


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

    sis: the last one that could be planned. state: the newest state; durable once `written` holds it.
    watched: the open window; judged: the last closed one; subject: the state's subject that both are about.
    silent: pods that did not answer at the last look. unsent: Events whose status is not
    written yet; told: those whose status is, and that wait for the end of the turn.
    hindrance: why the InferenceService could not be applied when that was tried last.
    """

    sis: Sis | None = None
    state: State | None = None
    watched: Watched | None = None
    judged: Judged | None = None
    subject: str = ""
    silent: int = 0
    applied: Applied | None = None
    refused: Refused | None = None
    hindrance: Hindrance | None = None
    downloads: Downloads = field(default_factory=Downloads)
    unsent: tuple[Event, ...] = ()
    told: tuple[Event, ...] = ()
    written: Mapping[str, Any] | None = None
    written_at: float = 0.0
