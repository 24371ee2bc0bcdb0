"""Plays the recording through the operator's own loop: what it decides and reports, moment by moment.

Nothing waits: a story of minutes is played in a second, and its display sets the pace.
"""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from specdec_command.story import objects
from specdec_command.story.recording import Chapter, Page, StoryRecording
from specdec_command.story.world import World, WorldCounters
from specdec_operator.api.times import to_time
from specdec_operator.names import RETRY_ANNOTATION, Key
from specdec_operator.observe.pods import PodView
from specdec_operator.observe.store import Stores
from specdec_operator.reconcile.cluster_info import ClusterInfo
from specdec_operator.reconcile.loop import Reconciler
from specdec_operator.reconcile.throttle import Throttle
from specdec_operator.report.events import Event

Body = dict[str, Any]
_EVERY: Final = 2.0
"""Seconds between two pages of the recording."""
_LONGEST: Final = 300.0
"""Seconds after which a chapter that does not end is an error of the recording."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServingRates:
    """What the pod that serves did since the moment before. Each is None where that is not known."""

    tokens_per_second: float | None = None
    acceptance: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """The service at one time. at: seconds since the story began; now: the same as a time.

    service: with its status. flag: by which the InferenceService asks for speculation, empty for the baseline.
    """

    at: float
    now: datetime
    chapter: Chapter
    service: Mapping[str, Any]
    pods: tuple[PodView, ...]
    events: tuple[Event, ...]
    flag: str
    load: ServingRates

    @property
    def phase(self) -> str:
        """The phase in the status."""
        return str(self.service.get("status", {}).get("phase", ""))


class Player:
    """One run of the story. It begins at midnight of the day of the recording."""

    def __init__(self, recording: StoryRecording) -> None:
        day = datetime.fromisoformat(recording.sources[0].when).replace(tzinfo=UTC)
        self._recording = recording
        self._began = day.timestamp()
        self._stores = Stores()
        self._stores.listed = True
        self._world = World(recording, self._stores, self._began)
        clock = self._world.clock
        about = ClusterInfo(self._world, clock=clock, namespace="kserve", told="0.20")
        throttle = Throttle(0, lambda _: None)
        self._loop = Reconciler(
            self._world, WorldCounters(self._world), self._stores, about, throttle=throttle, clock=clock
        )
        self._annotations: dict[str, str] = {}
        self._read: tuple[str, Page | None] = ("", None)

    async def play(self) -> AsyncIterator[Moment]:
        """Every reconcile of the story. Raises RuntimeError where a chapter does not end as it was recorded."""
        for chapter in self._recording.chapters:
            began, woken = self._world.now, True
            if chapter.retries:
                self._annotations[RETRY_ANNOTATION] = to_time(began)
            while not self._ends(chapter, began):
                woken = self._world.settle() or woken
                shown = self._body()
                result = await self._loop.reconcile(shown, woken=woken)
                yield self._moment(chapter, result.events)
                woken = self._body() != shown
                if not self._ends(chapter, began):
                    self._wait(chapter, result.requeue_after)

    def _ends(self, chapter: Chapter, began: float) -> bool:
        """Whether a chapter has come to its end."""
        if self._world.now - began > _LONGEST:
            raise RuntimeError(f"{chapter.title}: phase {self._phase()} after {_LONGEST:.0f} s")
        if chapter.until:
            return self._phase() == chapter.until
        return self._world.recorded_second() >= chapter.to

    def _wait(self, chapter: Chapter, seconds: float) -> None:
        """Moves on to whatever is first: what the loop asked for, a pod that is ready, the end of the chapter."""
        world = self._world
        moments = [world.now + max(seconds, 0.01), world.now + _EVERY]
        moments += [world.next_change] if world.next_change else []
        moments += [world.now + chapter.to - world.recorded_second()] if not chapter.until else []
        world.now = min(each for each in moments if each > world.now)

    def _phase(self) -> str:
        return str(self._world.status.get("phase", ""))

    @property
    def _key(self) -> Key:
        meta = self._recording.service["metadata"]
        return meta["namespace"], meta["name"]

    def _body(self) -> Body:
        """The service as the API server has it."""
        body = dict(self._recording.service)
        meta = {"creationTimestamp": to_time(self._began), "annotations": dict(self._annotations)}
        body["metadata"] = body["metadata"] | meta
        return body | {"status": self._world.status}

    def _moment(self, chapter: Chapter, events: tuple[Event, ...]) -> Moment:
        world = self._world
        return Moment(
            at=world.now - self._began,
            now=datetime.fromtimestamp(world.now, UTC),
            chapter=chapter,
            service=self._body(),
            pods=self._stores.pods(self._key),
            events=events,
            flag=objects.speculative_flag(world.child) if world.child else "",
            load=self._load(),
        )

    def _load(self) -> ServingRates:
        """What the pod that serves counted from the page before to the newest one."""
        if (pod := self._world.serving) is None:
            return ServingRates()
        (name, before), page = self._read, self._world.page(pod)
        self._read = (pod.name, page)
        if name != pod.name or before is None or page.at == before.at or not (page.counters and before.counters):
            return ServingRates()
        now, then = page.counters, before.counters
        drafted, accepted = now.draft_tokens - then.draft_tokens, now.accepted_tokens - then.accepted_tokens
        tokens = (now.generation_tokens - then.generation_tokens) / (page.at - before.at)
        return ServingRates(tokens_per_second=tokens, acceptance=accepted / drafted if drafted > 0 else None)


async def moments(recording: StoryRecording) -> list[Moment]:
    """The whole story."""
    return [each async for each in Player(recording).play()]
