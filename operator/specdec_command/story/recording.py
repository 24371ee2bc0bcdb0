"""What is recorded: the service, its chapters, and the pages of /metrics that its pods answer with."""

import pathlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import yaml

from specdec_command.replay.play import ReplayRound, read_recording
from specdec_operator.guard.counters import Counters

DATA: Final = pathlib.Path(__file__).parent / "data"
_LATE: Final = 0.1
"""Seconds by which a page was read later than planned, at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordingSource:
    """Where a part of the recording is from."""

    what: str
    when: str
    where: str
    made_by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Clients:
    """Tokens per second that the clients counted with the draft and without it, in turn, with a chapter's traffic."""

    speculating: float
    plain: float

    @property
    def speedup(self) -> float:
        """How many times as fast as the baseline the service was."""
        return self.speculating / self.plain


@dataclass(frozen=True, slots=True, kw_only=True)
class Chapter:
    """What the user or the clients do. until: the phase that ends it; to: the second of the newest pod's recording.

    command: what the user types. clients: what the clients counted, if recorded.
    """

    title: str
    text: str
    command: str = ""
    traffic: str = "none"
    until: str = ""
    to: float = 0.0
    clients: Clients | None = None

    @property
    def retries(self) -> bool:
        """Whether the user asks for another try."""
        return self.command.startswith("specdec retry")

    @property
    def looks(self) -> bool:
        """Whether the user looks at the status, at the end of the chapter."""
        return self.command.startswith("specdec status")


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineRecording:
    """The recorded pages of one pod. begins, ends: seconds of the recording; it begins when the pod is ready."""

    rounds: tuple[ReplayRound, ...]
    begins: float
    ends: float

    def page(self, seconds: float) -> "Page":
        """The newest page `seconds` after the pod became ready."""
        at = min(self.ends, self.begins + seconds) + _LATE
        newest = max((each for each in self.rounds if each.at <= at), key=lambda each: each.at)
        return Page(at=newest.at, counters=next(iter(newest.readings.values())))


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """What a pod answered at a second of its recording. counters: None where it did not answer."""

    at: float
    counters: Counters | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoryRecording:
    """The story. engines: of the pods with and without speculation (`speculating`, `plain`). starts: seconds that such
    a pod takes until it is ready.
    """

    sources: tuple[RecordingSource, ...]
    service: Mapping[str, Any]
    starts: Mapping[str, float]
    engines: Mapping[str, tuple[EngineRecording, ...]]
    chapters: tuple[Chapter, ...]


def read_story() -> StoryRecording:
    """The recording in this package."""
    data = yaml.safe_load((DATA / "story.yaml").read_text(encoding="utf-8"))
    return StoryRecording(
        sources=tuple(RecordingSource(**{**each, "when": str(each["when"])}) for each in data["recorded"].values()),
        service=data["service"],
        starts=data["starts"],
        engines={kind: tuple(map(_engine, each)) for kind, each in data["engines"].items()},
        chapters=tuple(map(_chapter, data["chapters"])),
    )


def _engine(data: Mapping[str, Any]) -> EngineRecording:
    return EngineRecording(
        rounds=read_recording(DATA / data["file"]), begins=float(data["from"]), ends=float(data["to"])
    )


def _chapter(data: Mapping[str, Any]) -> Chapter:
    clients = data.get("clients")
    return Chapter(**{**data, "clients": Clients(**clients) if clients else None})
