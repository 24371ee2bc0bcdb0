"""What happens to one sis, by watching: the moments of its phases and of what its InferenceService asks for."""

import asyncio
import pathlib
import time
from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

from hack.demo.observed import LOST, Kind, Observed, connected
from kubernetes.aio.client.exceptions import ApiException

from tests.wire.api import ISVC, SIS, Api

if TYPE_CHECKING:
    from kubernetes.aio.dynamic import DynamicClient

_PREDICTOR = "/api/v1/namespaces/{}/services/http:{}-predictor:80/proxy"
_TIMEOUT = 60


class Film:
    """Watches for the length of a block. Moments are this process' monotonic clock at the arrival of an event."""

    def __init__(self, kubeconfig: pathlib.Path, namespace: str, name: str) -> None:
        self._kubeconfig = kubeconfig
        self._namespace = namespace
        self._name = name
        self._stack = AsyncExitStack()
        self._client: DynamicClient | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self.observed = Observed()

    async def __aenter__(self) -> "Film":
        self._client = await self._stack.enter_async_context(connected(self._kubeconfig))
        for kind, where in ((Kind.SERVICE, SIS), (Kind.CHILD, ISVC)):
            path, named = Api.path(where, self._namespace), f"metadata.name={self._name}"
            watch = self.observed.watch(self._client, kind, path, field_selector=named)
            self._tasks.append(asyncio.create_task(watch))
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._stack.aclose()

    async def phase(self, wanted: str, since: float, seconds: float) -> float:
        """Waits for a phase that is entered after a moment; returns when that was."""
        return await self._first(
            f"phase {wanted}", since, seconds, lambda: [each.at for each in self.observed.phases if each.what == wanted]
        )

    async def plain(self, since: float, seconds: float) -> float:
        """Waits until the InferenceService asks for no speculation, after a moment; returns when that was."""
        return await self._first(
            "no --speculative-config", since, seconds, lambda: [e.at for e in self.observed.asked if not e.speculating]
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
                raise AssertionError(f"{what}: not within {seconds:.0f} s; the sis says {self.observed.status}")
            await asyncio.sleep(0.05)
        return found[0]
