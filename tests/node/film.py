"""What happens to one sis, by watching: the moments of its phases and of what its InferenceService asks for."""

import asyncio
import pathlib
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from hack.demo.connection import LOST, Connection, open_session
from hack.demo.world import Kind, World

from tests.wire.api import ISVC, SIS, Api

if TYPE_CHECKING:
    import aiohttp

_PREDICTOR = "/api/v1/namespaces/{}/services/http:{}-predictor:80/proxy"


class Film:
    """Watches for the length of a block. Moments are this process' monotonic clock at the arrival of an event."""

    def __init__(self, kubeconfig: pathlib.Path, namespace: str, name: str) -> None:
        self._kubeconfig = kubeconfig
        self._namespace = namespace
        self._name = name
        self._session: aiohttp.ClientSession | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self.world = World()

    async def __aenter__(self) -> "Film":
        self._session = open_session(self._kubeconfig)
        connection = Connection(self._session)
        self._tasks = [
            asyncio.create_task(self._follow(connection, Kind.SIS, SIS)),
            asyncio.create_task(self._follow(connection, Kind.CHILD, ISVC)),
        ]
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._session is not None:
            await self._session.close()

    async def phase(self, wanted: str, since: float, seconds: float) -> float:
        """Waits for a phase that is entered after a moment; returns when that was."""
        return await self._first(
            f"phase {wanted}", since, seconds, lambda: [each.at for each in self.world.turns if each.phase == wanted]
        )

    async def plain(self, since: float, seconds: float) -> float:
        """Waits until the InferenceService asks for no speculation, after a moment; returns when that was."""
        return await self._first(
            "no --speculative-config", since, seconds, lambda: [e.at for e in self.world.asked if not e.speculating]
        )

    async def health(self) -> int:
        """The status that the service's /health is answered with; 0 where it is not answered."""
        assert self._session is not None
        try:
            async with self._session.get(_PREDICTOR.format(self._namespace, self._name) + "/health") as answer:
                return answer.status
        except LOST:
            return 0

    async def text(self, path: str) -> str:
        """What the API server answers, where it is no JSON."""
        assert self._session is not None
        async with self._session.get(path) as answer:
            assert answer.status == 200, await answer.text()
            return await answer.text()

    async def _first(self, what: str, since: float, seconds: float, moments: Callable[[], list[float]]) -> float:
        deadline = time.monotonic() + seconds
        while not (found := [at for at in moments() if at >= since]):
            if time.monotonic() > deadline:
                raise AssertionError(f"{what}: not within {seconds:.0f} s; the sis says {self.world.status}")
            await asyncio.sleep(0.05)
        return found[0]

    async def _follow(self, connection: Connection, kind: Kind, where: tuple[str, str]) -> None:
        path = Api.path(where, self._namespace)
        async for change in connection.watch(path, f"fieldSelector=metadata.name={self._name}"):
            now = time.monotonic()
            if change.verb == "LISTED":
                self.world.listed(kind, change.objects, now)
            elif change.verb != "DELETED":
                self.world.changed(kind, change.objects[0], now)
