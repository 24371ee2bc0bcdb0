"""One side in the cluster: its sis, its pods, and what they answer."""

import asyncio
import time
from collections.abc import Callable, Mapping
from typing import Final

from specdec_operator.guard.counters import Counters, read_counters
from specdec_operator.measure.answer import Answer, Stream
from specdec_operator.measure.connection import LOST, Connection, Object, Refused
from specdec_operator.measure.context import Running, running
from specdec_operator.measure.errors import Unanswered, Unmeasurable
from specdec_operator.measure.order import request
from specdec_operator.measure.prompts import Prompt
from specdec_operator.measure.twin import Stand, View, revision, served_model, view
from specdec_operator.names import API_VERSION, OWNER_LABEL, PLURAL
from specdec_operator.serving.pods import ENGINE_PORT, pod_view

_PAUSE: Final = 1.0
Say = Callable[[str], None]


class Service:
    """A sis that is asked. speculating: whether it has to."""

    def __init__(self, connection: Connection, namespace: str, name: str, *, speculating: bool) -> None:
        self._connection = connection
        self._namespace = namespace
        self._model = name
        self._revision = ""
        self.name = name
        self.speculating = speculating
        self.path = f"/apis/{API_VERSION}/namespaces/{namespace}/{PLURAL}/{name}"

    async def sis(self) -> Object:
        """The sis. Raises Unmeasurable where there is none."""
        found = await self._connection.get(self.path)
        if found is None:
            raise Unmeasurable("NoSuchService", f"there is no sis {self.name} in namespace {self._namespace}")
        return found

    async def until_ready(self, say: Say, *, seconds: float, room: float) -> None:
        """Waits until it serves as it should; from then on any other revision is an error.

        seconds: longest wait. room: longest time without a node that has room. Raises Unmeasurable when it is over, or
        when the operator has given up.
        """
        begun, crowded, told = time.monotonic(), 0.0, ""
        while (seen := view(sis := await self.sis(), speculating=self.speculating)).stand is not Stand.READY:
            now = time.monotonic()
            crowded = (crowded or now) if seen.stand is Stand.NO_ROOM else 0.0
            self._give_up(
                seen, waited=now - begun, seconds=seconds, crowded=now - crowded if crowded else 0.0, room=room
            )
            if seen.words != told:
                say(f"{self.name}: {seen.words}")
                told = seen.words
            await asyncio.sleep(_PAUSE)
        self._revision, self._model = revision(sis), served_model(sis)

    def _give_up(self, seen: View, *, waited: float, seconds: float, crowded: float, room: float) -> None:
        wanted = "speculates" if self.speculating else "serves plain"
        if seen.stand is Stand.FAILED:
            raise Unmeasurable(
                "NotServing", f"{self.name} is not what can be measured as one that {wanted}: {seen.words}"
            )
        if crowded > room:
            message = (
                f"{self.name} has found no room for {crowded:.0f} s: {seen.words}. Make room, wait longer (--room), or "
                "measure the service in its own place, which stops speculation for that time: --in-place"
            )
            raise Unmeasurable("NoRoom", message)
        if waited > seconds:
            raise Unmeasurable("TimedOut", f"{self.name} has not come to the point where it {wanted}: {seen.words}")

    async def unchanged(self) -> None:
        """Checks that it is still what it was when it became ready. Raises Unmeasurable with what became of it."""
        sis = await self.sis()
        seen = view(sis, speculating=self.speculating)
        if seen.stand is not Stand.READY or revision(sis) != self._revision:
            raise Unmeasurable("Changed", f"{self.name} changed while it was measured: {seen.words}")

    async def pods(self) -> tuple[Object, ...]:
        """The pods that serve it. Raises Unmeasurable where there is none."""
        found = await self._connection.call(
            "GET", f"{self._core}/pods", query={"labelSelector": f"{OWNER_LABEL}={self.name}"}
        )
        views = [(each, pod_view(each)) for each in found["items"]]
        serving = [each for each, pod in views if pod.ready and not pod.deleting and pod.revision == self._revision]
        if not serving:
            raise Unmeasurable("NoPods", f"{self.name} has no ready pod of revision {self._revision}")
        return tuple(serving)

    async def counters(self) -> Mapping[str, Counters]:
        """The counters of each pod's engine, by the pod's name."""
        names = [each["metadata"]["name"] for each in await self.pods()]
        pages = await asyncio.gather(*(self._connection.text(f"{self._pod(name)}/metrics") for name in names))
        return {name: read_counters(page) for name, page in zip(names, pages, strict=True)}

    async def running(self) -> Running:
        """How its pods run it, and on what."""
        pods = await self.pods()
        version = await self._connection.call("GET", f"{self._pod(pods[0]['metadata']['name'])}/version")
        names = sorted({each["spec"]["nodeName"] for each in pods})
        nodes = {name: await self._node(name) for name in names}
        return running(pods, nodes, str(version.get("version", "unknown")))

    async def ask(self, prompt: Prompt, max_tokens: int) -> Answer:
        """One streamed request. Raises Unanswered where another try may do, Unmeasurable where none will."""
        stream = Stream()
        path = f"{self._core}/services/http:{self.name}-predictor:80/proxy{prompt.path}"
        body = request(self._model, prompt.body, max_tokens)
        sent = time.perf_counter()
        try:
            async with self._connection.stream(path, body) as lines:
                async for line in lines:
                    stream.take(line, time.perf_counter() - sent)
        except Refused as error:
            if error.status >= 500 or error.status == 429:
                raise Unanswered(error.reason, error.message) from error
            raise
        except LOST as error:
            raise Unanswered("ConnectionLost", f"{self.name}: {type(error).__name__} {error}".rstrip()) from error
        return stream.answer()

    async def _node(self, name: str) -> Object | None:
        try:
            return await self._connection.get(f"/api/v1/nodes/{name}")
        except Refused:  # users of a namespace may seldom read nodes
            return None

    @property
    def _core(self) -> str:
        return f"/api/v1/namespaces/{self._namespace}"

    def _pod(self, name: str) -> str:
        return f"{self._core}/pods/http:{name}:{ENGINE_PORT}/proxy"
