"""One side in the cluster: its service, whether it can be asked now, its pods, and what they answer."""

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from specdec_command.measure.answer import Answer, AnswerStream
from specdec_command.measure.benchmark import Unanswered, Unmeasurable
from specdec_command.measure.context import Running, running
from specdec_command.measure.prompts import Prompt
from specdec_operator.guard.counters import Counters, read_counters
from specdec_operator.guard.state import Phase
from specdec_operator.kube.client import ApiError, KubeClient
from specdec_operator.names import OWNER_LABEL, services_path
from specdec_operator.observe.pods import ENGINE_PORT, pod_view

Object = dict[str, Any]
Say = Callable[[str], None]

_PAUSE: Final = 1.0
_SETTLED: Final = frozenset({Phase.WATCHING, Phase.SERVING})
_TAKEN_OUT: Final = frozenset({Phase.DIALLED, Phase.RESPONDING, Phase.ROLLED_BACK})


class TwinState(StrEnum):
    """Whether a side can be asked now."""

    READY = "Ready"
    WAITING = "Waiting"
    NO_ROOM = "NoRoom"
    FAILED = "Failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class SideState:
    """The state of a side, with its message."""

    state: TwinState
    message: str


def view(service: Object, *, speculating: bool) -> SideState:
    """Whether a service serves as it should, speculating or plain."""
    status = service.get("status", {})
    phase, reason = status.get("phase", "not seen yet"), status.get("reason", "")
    message = f"{phase}: {reason}: {status.get('message', '')}" if reason else str(phase)
    if status.get("observedGeneration") != service["metadata"].get("generation"):
        return SideState(state=TwinState.WAITING, message="the operator has not handled it yet")
    if phase == Phase.STALLED or (speculating and phase in _TAKEN_OUT):
        return SideState(state=TwinState.FAILED, message=message)
    plain = not speculating and phase == Phase.ROLLED_BACK
    if (phase in _SETTLED or plain) and status.get("serving", {}).get("speculating") is speculating:
        return SideState(state=TwinState.READY, message=message)
    if plain:
        return SideState(
            state=TwinState.FAILED, message=f"{message}; it still speculates, because guard.rollBackTo is LastGood"
        )
    return SideState(state=TwinState.NO_ROOM if reason == "Unschedulable" else TwinState.WAITING, message=message)


def served_model(service: Object) -> str:
    """The model name that clients of a service send."""
    return str(service["spec"]["model"].get("name") or service["metadata"]["name"])


def _revision(service: Object) -> str:
    return str(service.get("status", {}).get("serving", {}).get("revision", ""))


class MeasuredService:
    """A service that is asked. speculating: whether it has to. Every method raises Unmeasurable, or ApiError."""

    def __init__(self, client: KubeClient, namespace: str, name: str, *, speculating: bool) -> None:
        self._client = client
        self._namespace = namespace
        self._model = name
        self._revision = ""
        self._port = ENGINE_PORT
        self.name = name
        self.speculating = speculating
        self.path = services_path(namespace, name)

    async def body(self) -> Object:
        """The service."""
        body = await self._client.find(self.path)
        if body is None:
            raise Unmeasurable("NoSuchService", f"namespace {self._namespace} has no service {self.name}")
        return body

    async def until_ready(self, say: Say, *, seconds: float, room: float) -> None:
        """Waits until it serves as it should; from then on any other revision is an error.

        seconds: longest wait. room: longest time without a node that has room.
        """
        begun, crowded, message = time.monotonic(), 0.0, ""
        while (now := view(body := await self.body(), speculating=self.speculating)).state is not TwinState.READY:
            clock = time.monotonic()
            crowded = (crowded or clock) if now.state is TwinState.NO_ROOM else 0.0
            self._give_up(now, waited=clock - begun - seconds, crowded=clock - crowded if crowded else 0.0, room=room)
            if now.message != message:
                say(f"{self.name}: {now.message}")
                message = now.message
            await asyncio.sleep(_PAUSE)
        self._revision, self._model = _revision(body), served_model(body)
        self._port = body["spec"].get("engine", {}).get("port", ENGINE_PORT)

    def _give_up(self, now: SideState, *, waited: float, crowded: float, room: float) -> None:
        """Raises where waiting is over. waited: seconds beyond the longest wait."""
        wanted = "speculates" if self.speculating else "serves plain"
        if now.state is TwinState.FAILED:
            message = f"{self.name} cannot be measured as a service that {wanted}: {now.message}"
            raise Unmeasurable("NotServing", message)
        if crowded > room:
            message = (
                f"{self.name} found no room for {crowded:.0f} s: {now.message}. Make room, wait longer (--room), or "
                "measure in place with --in-place, which stops speculation of the service for that time"
            )
            raise Unmeasurable("NoRoom", message)
        if waited > 0:
            raise Unmeasurable("TimedOut", f"{self.name} did not reach the state in which it {wanted}: {now.message}")

    async def check_unchanged(self) -> None:
        """Raises where it is not what it was when it became ready, with what became of it."""
        body = await self.body()
        now = view(body, speculating=self.speculating)
        if now.state is not TwinState.READY or _revision(body) != self._revision:
            raise Unmeasurable("Changed", f"{self.name} changed during the measurement: {now.message}")

    async def pods(self) -> tuple[Object, ...]:
        """The pods that serve it."""
        pods = await self._client.get(f"{self._core}/pods", labelSelector=f"{OWNER_LABEL}={self.name}")
        views = [(each, pod_view(each)) for each in pods["items"]]
        serving = [each for each, pod in views if pod.ready and not pod.deleting and pod.revision == self._revision]
        if not serving:
            raise Unmeasurable("NoPods", f"{self.name} has no ready pod of revision {self._revision}")
        return tuple(serving)

    async def counters(self) -> Mapping[str, Counters]:
        """The counters of each pod's engine, by the pod's name."""
        names = [each["metadata"]["name"] for each in await self.pods()]
        pages = await asyncio.gather(*(self._client.text(f"{self._pod(name)}/metrics") for name in names))
        return {name: read_counters(page) for name, page in zip(names, pages, strict=True)}

    async def running(self) -> Running:
        """How its pods run it, and on what."""
        pods = await self.pods()
        version = await self._client.get(f"{self._pod(pods[0]['metadata']['name'])}/version")
        nodes = {name: await self._node(name) for name in sorted({each["spec"]["nodeName"] for each in pods})}
        return running(pods, nodes, str(version.get("version", "unknown")))

    async def ask(self, prompt: Prompt, options: Mapping[str, Any]) -> Answer:
        """One streamed request. options: all but model and prompt. Raises Unanswered where another try may do."""
        stream = AnswerStream()
        path = f"{self._core}/services/http:{self.name}-predictor:80/proxy{prompt.path}"
        sent = time.perf_counter()
        try:
            async with self._client.stream(path, {"model": self._model, **prompt.body, **options}) as lines:
                async for line in lines:
                    stream.take(line, time.perf_counter() - sent)
        except ApiError as error:
            if error.status in range(400, 500) and error.status != 429:
                raise
            raise Unanswered(error.reason, error.message) from error
        return stream.answer()

    async def _node(self, name: str) -> Object | None:
        try:
            return await self._client.get(f"/api/v1/nodes/{name}")
        except ApiError:  # users of a namespace may seldom read nodes
            return None

    @property
    def _core(self) -> str:
        return f"/api/v1/namespaces/{self._namespace}"

    def _pod(self, name: str) -> str:
        return f"{self._core}/pods/http:{name}:{self._port}/proxy"
