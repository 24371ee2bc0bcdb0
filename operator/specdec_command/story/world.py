"""A cluster with one service, in the time of a recording: pods start when they did, and answer as they did.

The operator's loop reads and writes it as it does a real one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from specdec_command.story import objects
from specdec_command.story.recording import EngineRecording, Page, StoryRecording
from specdec_operator.api.guard import Guard
from specdec_operator.errors import Unavailable
from specdec_operator.guard.counters import Counters, Unread
from specdec_operator.observe.pods import ENGINE_PORT
from specdec_operator.observe.store import Stores

Body = dict[str, Any]


class NothingElse:
    """Answers as an API server where nothing else is. Raises Unavailable for a write that no chapter makes."""

    async def read(self, path: str, *, most: int | None = None, **_: str) -> Body | None:
        """Nothing lies there."""
        return None

    async def list_metadata(self, path: str, label_selector: str) -> list[Body] | None:
        """There is nothing of the kind."""
        return []

    async def log_end(self, namespace: str, pod: str) -> str:
        """No pod has a log."""
        return ""

    async def patch(self, manifest: Body, changes: Sequence[Body], *, dry_run: bool = False) -> Body:
        """Nothing of others is there to be changed."""
        raise _not_recorded("patch", manifest)

    async def set_managers(self, manifest: Body, entries: Sequence[Body]) -> Body:
        """Nothing of others is there to be taken over."""
        raise _not_recorded("set_managers", manifest)

    async def remove(self, manifest: Body) -> None:
        """What is not there is gone already."""

    async def evict(self, namespace: str, pod: str) -> None:
        """No pod of the story is restarted."""
        raise Unavailable("NotRecorded", f"evict pod {pod}: no pod of the recording is restarted")

    async def annotate(self, manifest: Body, name: str, text: str | None) -> None:
        """No dial of the story is set."""

    async def post_event(self, namespace: str, event: Body) -> None:
        """Events are taken from the loop itself."""


def _not_recorded(verb: str, manifest: Body) -> Unavailable:
    return Unavailable("NotRecorded", f"{verb} {manifest['kind']}: the recording has no such write")


_URL: Final = "http://tiny-predictor.demo"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoryPod:
    """A pod. ready_at: epoch seconds at which its engine answers."""

    name: str
    child: Body
    engine: EngineRecording
    ready_at: float


class World(NothingElse):
    """What there is. now: the time in epoch seconds, which the player advances. status: of the service."""

    def __init__(self, recording: StoryRecording, stores: Stores, now: float) -> None:
        self._recording = recording
        self._stores = stores
        self._engines = {kind: iter(each) for kind, each in recording.engines.items()}
        self._made = 0
        self._version = 1
        self._starting = False
        self.now = now
        self.status: Body = {}
        self.child: Body = {}
        self.pods: list[StoryPod] = []

    def clock(self) -> float:
        """The time."""
        return self.now

    @property
    def serving(self) -> StoryPod | None:
        """The newest pod that answers."""
        return next((each for each in reversed(self.pods) if each.ready_at <= self.now), None)

    @property
    def next_change(self) -> float | None:
        """When a pod becomes ready; None while none is starting."""
        return next((each.ready_at for each in self.pods if each.ready_at > self.now), None)

    def recorded_second(self) -> float:
        """The second of its recording that the pod that serves is at."""
        return self.serving.engine.begins + self.now - self.serving.ready_at if self.serving else 0.0

    def page(self, pod: StoryPod) -> Page:
        """What a pod answers now."""
        return pod.engine.page(self.now - pod.ready_at)

    def settle(self) -> bool:
        """Plays the Deployment's controller: a pod that became ready ends the one before. Returns whether one did."""
        newest = self.pods[-1] if self.pods else None
        if newest is None or newest.ready_at > self.now or not self._starting:
            return False
        for each in self.pods[:-1]:
            self._stores.note_pod(objects.pod(each.child, each.name, ready_since=each.ready_at), deleted=True)
        self.pods = [newest]
        self._note(newest, available=1)
        return True

    def _note(self, newest: StoryPod, *, available: int) -> None:
        """Sends the newest pod and the Deployment to the watches."""
        ready = newest.ready_at <= self.now
        since = newest.ready_at if ready else None
        self._starting = not ready
        made = objects.deployment(newest.child, total=len(self.pods), updated=1, available=available)
        self._stores.note_deployment(made, deleted=False)
        self._stores.note_pod(objects.pod(newest.child, newest.name, ready_since=since), deleted=False)

    def _start_pod(self) -> None:
        kind = "speculating" if objects.speculative_flag(self.child) else "plain"
        self._made += 1
        name = f"{self.child['metadata']['name']}-predictor-{self._made}"
        ready_at = self.now + self._recording.starts[kind]
        self.pods.append(StoryPod(name=name, child=self.child, engine=next(self._engines[kind]), ready_at=ready_at))
        self._note(self.pods[-1], available=len(self.pods) - 1)

    async def apply(self, manifest: Body, *, force: bool = True) -> Body:
        """Makes the InferenceService, or another generation of it, and lets KServe start its pod."""
        before, generation = self.child, 1
        if before:
            generation = before["metadata"]["generation"] + (before["spec"] != manifest["spec"])
        self.child = manifest | {"metadata": manifest["metadata"] | {"generation": generation, "uid": "recorded-isvc"}}
        self._stores.note_child(self.child | {"status": {"url": _URL}}, deleted=False)
        if not before or objects.revision_of(self.child) != objects.revision_of(before):
            self._start_pod()
        return self.child

    async def apply_status(self, namespace: str, name: str, status: Body) -> int:
        """Keeps the status of the service, and counts its versions."""
        self.status, self._version = status, self._version + 1
        return self._version

    async def find(self, manifest: Body) -> Body | None:
        """The InferenceService; there is nothing else."""
        return (self.child or None) if manifest["kind"] == "InferenceService" else None


class WorldCounters:
    """Reads the counters of a world's pods, as the guard does."""

    def __init__(self, world: World) -> None:
        self._world = world

    async def read(
        self, guard: Guard, pods: Mapping[str, str], *, namespace: str, port: int = ENGINE_PORT
    ) -> dict[str, Counters | Unread]:
        """The recorded counters of each pod by name."""
        known = {each.name: self._world.page(each).counters for each in self._world.pods if each.name in pods}
        return {name: known.get(name) or Unread(f"pod {name} did not answer") for name in pods}

    async def dial(self, namespace: str, address: str, *, port: int = ENGINE_PORT) -> bytes | None:
        """The recording has nothing about dials."""
        return None

    async def facts(self, namespace: str, address: str, *, port: int = ENGINE_PORT) -> bytes | None:
        """The recording has nothing about the models."""
        return None
