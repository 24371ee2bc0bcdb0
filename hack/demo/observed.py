"""What is observed of the service, with the moment of each change: watches of the API server keep it up to date.

Moments are this process' monotonic clock at the arrival of a watch event: times in the status have whole seconds only.
"""

import asyncio
import pathlib
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, NamedTuple

import aiohttp
from kubernetes.aio import client, config, watch
from kubernetes.aio.client.exceptions import ApiException
from kubernetes.aio.dynamic import DynamicClient

from hack.cluster.errors import ClusterError
from specdec_operator.names import REVISION_LABEL

Object = Mapping[str, Any]

LISTED: Final = "LISTED"
LOST: Final = (aiohttp.ClientError, TimeoutError, OSError)
"""What a broken or refused connection raises."""
_PAUSE: Final = 0.5
_TIMEOUT: Final = 60
_SILENCE: Final = 300
"""Seconds without a change after which a watch is started again."""
_DECIDED: Final = ("Responding", "RolledBack", "Stalled")


@asynccontextmanager
async def connected(kubeconfig: pathlib.Path) -> AsyncIterator[DynamicClient]:
    """A client of the local cluster, which no proxy of the environment is asked for."""
    settings = client.Configuration(client_session_kwargs={"trust_env": False})
    await config.load_kube_config(str(kubeconfig), client_configuration=settings)
    async with client.ApiClient(settings) as api:
        yield DynamicClient(api)


async def request(api: DynamicClient, method: str, path: str, **more: Any) -> dict[str, Any]:
    """One request with a JSON answer. Raises ApiException, or one of LOST."""
    found: dict[str, Any] = await api.request(method, path, serializer=lambda _, data: data, **more)
    return found


async def follow(api: DynamicClient, path: str, **selector: str) -> AsyncIterator[tuple[str, Sequence[Object]]]:
    """Follow a collection for ever: LISTED with all objects first, then each change; a list again after an error.

    Raises ClusterError where the API server refuses, but not where it fails or is busy (429), as with a CRD of a moment
    ago, or where its history does not reach back (410).
    """

    async def changes(**more: Any) -> Any:
        return await api.request("get", path, serialize=False, _request_timeout=_SILENCE, **selector, **more)

    while True:
        try:
            found = await request(api, "get", path, _request_timeout=_TIMEOUT, **selector)
            yield LISTED, found["items"]
            async with watch.Watch() as watched:
                async for each in watched.stream(changes, resource_version=found["metadata"]["resourceVersion"]):
                    yield each["type"], (each["raw_object"],)
        except ApiException as error:
            if error.status < 500 and error.status not in (410, 429):
                raise ClusterError(f"GET {path}: the API server answers {error.status}: {error.body}") from error
        except LOST:
            pass
        await asyncio.sleep(_PAUSE)


class Kind(StrEnum):
    """What is watched."""

    SERVICE = "SpeculativeInferenceService"
    CHILD = "InferenceService"
    POD = "Pod"
    EVENT = "Event"


class Seen(NamedTuple):
    """The phase that the service entered, or the revision of a pod that became ready."""

    at: float
    what: str


class Asked(NamedTuple):
    """The InferenceService began to ask for something else."""

    at: float
    speculating: bool
    revision: str


class Moments(NamedTuple):
    """When each part of a rollback was seen.

    onset: the first request of the other traffic was sent. decided: the service left Watching for the decision.
    patched: the InferenceService no longer asked for speculation. serving: a pod without speculation became ready.
    rolled_back: the operator found the rollout complete.
    """

    onset: float
    decided: float
    patched: float
    serving: float
    rolled_back: float


@dataclass(slots=True, kw_only=True)
class Observed:
    """Everything seen so far. pods: whether each is ready. listed: the kinds of which all objects were seen."""

    service: Object | None = None
    pods: dict[str, bool] = field(default_factory=dict)
    phases: list[Seen] = field(default_factory=list)
    asked: list[Asked] = field(default_factory=list)
    arrivals: list[Seen] = field(default_factory=list)
    last_event: str = ""
    listed: set[Kind] = field(default_factory=set)

    @property
    def status(self) -> Object:
        """The status of the service; empty before the operator has looked at it."""
        found: Object = (self.service or {}).get("status", {})
        return found

    @property
    def phase(self) -> str:
        """The phase of the service; empty where it has none."""
        return str(self.status.get("phase", ""))

    def ready_pods(self) -> list[str]:
        """Names of the pods that serve."""
        return [name for name, ready in self.pods.items() if ready]

    def empty(self) -> bool:
        """Whether nothing of the service is left."""
        return self.service is None and not self.pods

    def decided(self, onset: float) -> float | None:
        """When the operator decided, after `onset`; None while it has not."""
        return next((each.at for each in self.phases if each.at >= onset and each.what in _DECIDED), None)

    def rollback(self, onset: float) -> Moments | None:
        """The rollback that followed `onset`; None while a part of it is still to come.

        A plain revision may have served before, so only pods that became ready after the onset count.
        """
        plain = next((each for each in self.asked if each.at >= onset and not each.speculating), None)
        decided = self.decided(onset)
        over = next((each.at for each in self.phases if each.at >= onset and each.what == "RolledBack"), None)
        if decided is None or plain is None or over is None:
            return None
        ready = (each.at for each in self.arrivals if each.at >= onset and each.what == plain.revision)
        if (serving := next(ready, None)) is None:
            return None
        return Moments(onset=onset, decided=decided, patched=plain.at, serving=serving, rolled_back=over)

    async def watch(self, api: DynamicClient, kind: Kind, path: str, **selector: str) -> None:
        """Keep up with the objects of a kind, for ever."""
        async for verb, objects in follow(api, path, **selector):
            self.take(kind, verb, objects, time.monotonic())

    def take(self, kind: Kind, verb: str, objects: Sequence[Object], at: float) -> None:
        """Take what follow() brings. What a list lacks is gone; the Events in it are of the past."""
        if verb == LISTED:
            self.listed.add(kind)
            self._keep(kind, {each["metadata"]["name"] for each in objects})
        for each in objects:
            if verb == "DELETED":
                self._keep(kind, {*self.pods} - {each["metadata"]["name"]})
            elif kind is not Kind.EVENT or verb != LISTED:
                self._changed(kind, each, at)

    def _keep(self, kind: Kind, named: set[str]) -> None:
        if kind is Kind.SERVICE:
            self.service = None
        elif kind is Kind.POD:
            self.pods = {name: ready for name, ready in self.pods.items() if name in named}

    def _changed(self, kind: Kind, thing: Object, at: float) -> None:
        match kind:
            case Kind.SERVICE:
                self.service = thing
                if self.phase and (not self.phases or self.phases[-1].what != self.phase):
                    self.phases.append(Seen(at, self.phase))
            case Kind.CHILD:
                predictor = thing["spec"]["predictor"]
                speculating = any(arg.startswith("--speculative-config") for arg in predictor["model"].get("args", []))
                now = Asked(at=at, speculating=speculating, revision=_revision(predictor))
                if not self.asked or self.asked[-1][1:] != now[1:]:
                    self.asked.append(now)
            case Kind.POD:
                name, ready = thing["metadata"]["name"], _ready(thing)
                if ready and not self.pods.get(name):
                    self.arrivals.append(Seen(at, _revision(thing["metadata"])))
                self.pods[name] = ready
            case Kind.EVENT:
                self.last_event = f"{thing.get('reason', '')}: {thing.get('message', '')}"


def _revision(labelled: Object) -> str:
    return str(labelled.get("labels", {}).get(REVISION_LABEL, ""))


def _ready(pod: Object) -> bool:
    conditions = pod.get("status", {}).get("conditions", [])
    leaving = "deletionTimestamp" in pod["metadata"]
    return not leaving and any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)
