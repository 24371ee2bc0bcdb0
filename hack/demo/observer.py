"""Keeps the demo's World and the engine's counters up to date while the story runs. It only looks."""

import asyncio
import time
from collections.abc import Coroutine

from hack.demo import counters
from hack.demo.connection import LOST, Connection
from hack.demo.samples import Sample
from hack.demo.world import Kind, World
from specdec_operator import names

ENGINE_PORT = 8080
_READ_EVERY = 1.0


class Observer:
    """Watches one sis and all that belongs to it."""

    def __init__(self, connection: Connection, sample: Sample) -> None:
        self._connection = connection
        self._sample = sample
        self._listed: set[Kind] = set()
        self.world = World()
        self.readings: list[counters.Reading] = []

    def tasks(self) -> list[Coroutine[None, None, None]]:
        """What must run beside the story."""
        core = f"/api/v1/namespaces/{self._sample.namespace}"
        sis = f"/apis/{names.API_VERSION}/namespaces/{self._sample.namespace}/{names.PLURAL}"
        kserve = f"/apis/{names.KSERVE_GROUP}/{names.KSERVE_VERSION}/namespaces/{self._sample.namespace}"
        named = f"fieldSelector=metadata.name={self._sample.name}"
        return [
            self._follow(Kind.SIS, sis, named),
            self._follow(Kind.CHILD, f"{kserve}/inferenceservices", named),
            self._follow(Kind.POD, f"{core}/pods", f"labelSelector={names.OWNER_LABEL}={self._sample.name}"),
            self._follow(Kind.EVENT, f"{core}/events", f"fieldSelector=involvedObject.kind={names.KIND}"),
            self._read_counters(),
        ]

    def complete(self) -> bool:
        """Whether everything was listed at least once, so that what is not seen is not there."""
        return self._listed == set(Kind)

    async def _follow(self, kind: Kind, path: str, selector: str) -> None:
        async for change in self._connection.watch(path, selector):
            now = time.monotonic()
            match change.verb:
                case "LISTED":
                    self.world.listed(kind, change.objects, now)
                    self._listed.add(kind)
                case "DELETED":
                    self.world.gone(kind, change.objects[0])
                case _:
                    self.world.changed(kind, change.objects[0], now)

    async def _read_counters(self) -> None:
        while True:
            due = time.monotonic() + _READ_EVERY
            for pod in self.world.ready_pods:
                await self._read_one(pod)
            await asyncio.sleep(max(0.0, due - time.monotonic()))

    async def _read_one(self, pod: str) -> None:
        path = f"/api/v1/namespaces/{self._sample.namespace}/pods/http:{pod}:{ENGINE_PORT}/proxy/metrics"
        try:
            async with self._connection.session.get(path) as answer:
                page = await answer.text() if answer.status == 200 else ""
        except LOST:
            return
        if found := counters.read(page, pod=pod, at=time.monotonic()):
            self.readings.append(found)
