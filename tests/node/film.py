"""What happens to one service, by watching: its phases, what its InferenceService asks for, and which pods serve.

Moments are this process' monotonic clock at the arrival of a watch event: times in the status have whole seconds only.
"""

import asyncio
import pathlib
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, NamedTuple

import aiohttp
from kubernetes.aio import client, config, watch
from kubernetes.aio.client.exceptions import ApiException
from kubernetes.aio.dynamic import DynamicClient

from specdec_operator.names import OWNER_LABEL, REVISION_LABEL
from tests.wire.api import ISVC, POD, SIS, Api, Object

LOST = (aiohttp.ClientError, TimeoutError, OSError)
"""What a broken or refused connection raises."""
_PREDICTOR = "/api/v1/namespaces/{}/services/http:{}-predictor:80/proxy"
_TIMEOUT = 60
_PAUSE = 0.5
_SILENCE = 300
"""Seconds without a change after which a watch is started again."""


class Seen(NamedTuple):
    """The phase that the service entered, the revision of a pod that became ready, or the tokens that each pod drafts
    by the dial (empty: not each, or none is asked for).
    """

    at: float
    what: str


class Asked(NamedTuple):
    """The InferenceService began to ask for something else."""

    at: float
    speculating: bool
    revision: str


class Film:
    """Watches for the length of a block."""

    def __init__(self, kubeconfig: pathlib.Path, namespace: str, name: str) -> None:
        self._kubeconfig = kubeconfig
        self._namespace = namespace
        self._name = name
        self._stack = AsyncExitStack()
        self._client: DynamicClient | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self.status: Object = {}
        self.phases: list[Seen] = []
        self.dials: list[Seen] = []
        self.asked: list[Asked] = []
        self.arrivals: list[Seen] = []
        self.ready: set[str] = set()

    async def __aenter__(self) -> "Film":
        self._client = await self._stack.enter_async_context(connected(self._kubeconfig))
        named, owned = f"metadata.name={self._name}", f"{OWNER_LABEL}={self._name}"
        watches = (
            (SIS, {"field_selector": named}),
            (ISVC, {"field_selector": named}),
            (POD, {"label_selector": owned}),
        )
        for kind, selector in watches:
            path = Api.path(kind, self._namespace)
            self._tasks.append(asyncio.create_task(self._watch(kind, follow(self._client, path, **selector))))
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._stack.aclose()

    async def _watch(self, kind: tuple[str, str], changes: AsyncIterator[tuple[str, Object]]) -> None:
        async for verb, thing in changes:
            self.take(kind, verb, thing, time.monotonic())

    def take(self, kind: tuple[str, str], verb: str, thing: Object, at: float) -> None:
        """Takes one object that was listed, or that changed."""
        if kind is POD:
            self._pod(thing, verb != "DELETED", at)
        elif kind is ISVC:
            predictor = thing["spec"]["predictor"]
            speculating = any(arg.startswith("--speculative-config") for arg in predictor["model"].get("args", []))
            now = Asked(at, speculating, _revision(predictor))
            if not self.asked or self.asked[-1][1:] != now[1:]:
                self.asked.append(now)
        else:
            self.status = thing.get("status", {})
            phase = self.status.get("phase")
            if phase and (not self.phases or self.phases[-1].what != phase):
                self.phases.append(Seen(at, phase))
            dial = self.status.get("dial", {})
            tokens = str(dial.get("tokens")) if dial.get("pods") and dial.get("pods") == dial.get("inForce") else ""
            if not self.dials or self.dials[-1].what != tokens:
                self.dials.append(Seen(at, tokens))

    def _pod(self, pod: Object, stays: bool, at: float) -> None:
        """Kubernetes sets the deletion time of a pod first, and its condition later."""
        meta, conditions = pod["metadata"], pod.get("status", {}).get("conditions", [])
        ready = any((each["type"], each["status"]) == ("Ready", "True") for each in conditions)
        if not (stays and ready and "deletionTimestamp" not in meta):
            self.ready.discard(meta["name"])
        elif meta["name"] not in self.ready:
            self.ready.add(meta["name"])
            self.arrivals.append(Seen(at, _revision(meta)))

    async def phase(self, wanted: str, since: float, seconds: float) -> float:
        """Waits for a phase that is entered after a moment; returns when that was."""
        return await self._first(
            f"phase {wanted}", since, seconds, lambda: [each.at for each in self.phases if each.what == wanted]
        )

    async def dialled(self, tokens: int, since: float, seconds: float) -> float:
        """Waits until each pod answers that it drafts so many tokens, after a moment; returns when that was."""
        return await self._first(
            f"the dial at {tokens}", since, seconds, lambda: [e.at for e in self.dials if e.what == str(tokens)]
        )

    async def baseline(self, since: float, seconds: float) -> float:
        """Waits until the InferenceService asks for no speculation, after a moment; returns when that was."""
        return await self._first(
            "no --speculative-config", since, seconds, lambda: [e.at for e in self.asked if not e.speculating]
        )

    async def serving(self, since: float, seconds: float) -> float:
        """Waits until a pod of the present revision becomes ready, after a moment; returns when that was."""
        return await self._first(
            "a ready pod", since, seconds, lambda: [e.at for e in self.arrivals if e.what == self.asked[-1].revision]
        )

    async def health(self) -> int:
        """The status that the service's /health is answered with; 0 where it is not answered."""
        assert self._client is not None
        path = _PREDICTOR.format(self._namespace, self._name) + "/health"
        try:
            answer = await self._client.request("get", path, serialize=False, _request_timeout=_TIMEOUT)
        except ApiException as error:
            return int(error.status)
        except LOST:
            return 0
        return int(answer.status)

    async def text(self, path: str) -> str:
        """The API server's answer as text, for answers that are not JSON. Raises ApiException if the server refuses."""
        assert self._client is not None
        answer = await self._client.request("get", path, serialize=False, _request_timeout=_TIMEOUT)
        return str(await answer.text())

    async def _first(self, what: str, since: float, seconds: float, moments: Callable[[], list[float]]) -> float:
        deadline = time.monotonic() + seconds
        while not (found := [at for at in moments() if at >= since]):
            if time.monotonic() > deadline:
                raise AssertionError(f"{what}: not within {seconds:.0f} s; the sis says {self.status}")
            await asyncio.sleep(0.05)
        return found[0]


@asynccontextmanager
async def connected(kubeconfig: pathlib.Path) -> AsyncIterator[DynamicClient]:
    """A client of the local cluster, which no proxy of the environment is asked for."""
    settings = client.Configuration(client_session_kwargs={"trust_env": False})
    await config.load_kube_config(str(kubeconfig), client_configuration=settings)
    async with client.ApiClient(settings) as api:
        yield DynamicClient(api)


async def follow(api: DynamicClient, path: str, **selector: str) -> AsyncIterator[tuple[str, Object]]:
    """Follows a collection for ever: its objects as LISTED, then each change; the list again after an error.

    Raises ApiException if the API server refuses, but not if it fails or is busy (429), as with a CRD of a moment ago,
    or if its history does not reach back (410).
    """

    async def changes(**more: Any) -> Any:
        return await api.request("get", path, serialize=False, _request_timeout=_SILENCE, **selector, **more)

    while True:
        try:
            found = await api.request(
                "get", path, serializer=lambda _, data: data, _request_timeout=_TIMEOUT, **selector
            )
            for each in found["items"]:
                yield "LISTED", each
            async with watch.Watch() as watched:
                async for each in watched.stream(changes, resource_version=found["metadata"]["resourceVersion"]):
                    yield each["type"], each["raw_object"]
        except ApiException as error:
            if error.status < 500 and error.status not in (410, 429):
                raise
        except LOST:
            pass
        await asyncio.sleep(_PAUSE)


def _revision(labelled: Object) -> str:
    return str(labelled.get("labels", {}).get(REVISION_LABEL, ""))
