"""What happens to the services: one thing after the other, by a seeded random choice."""

import asyncio
import random
import signal
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping

import aiohttp
from tests.wire.api import DEPLOYMENT, ISVC, POD, SIS, Api, Refused

from lab.scale.engines_standin import GOOD, PORT, USELESS, address_of
from lab.scale.fleet import NAMESPACE
from lab.soak.service import SoakService

Step = Callable[[SoakService], Awaitable[bool]]

_OWNER = "serving.specdec.io/name"
_HOLD, _RETRY = "specdec.io/hold", "specdec.io/retry"
_LEAST_THERE = 0.8
_PAUSED_SECONDS = 6.0
_AT_ONCE = 16


class Churn:
    """The fleet, and what was done to it. A step that does not fit the service as it is does nothing."""

    def __init__(self, api: Api, size: int, *, seed: int, stop: Callable[[signal.Signals], None]) -> None:
        self.services = [SoakService(number=number) for number in range(size)]
        self.done = Counter[str]()
        self._api = api
        self._random = random.Random(seed)  # noqa: S311 - guards nothing
        self._stop = stop
        self._phases: Mapping[str, str] = {}
        self._steps: dict[str, tuple[int, Step]] = {
            "change": (6, self._change),
            "delete": (4, self._delete),
            "create": (8, self._create),
            "edit InferenceService": (4, self._edit_child),
            "delete InferenceService": (2, self._delete_child),
            "delete pods": (4, self._delete_pods),
            "delete Deployment": (1, self._delete_deployment),
            "spoil": (5, self._spoil),
            "heal": (8, self._heal),
            "hold": (2, self._hold),
            "release": (4, self._release),
            "wipe status": (2, self._wipe_status),
        }

    async def begin(self) -> None:
        """Makes them all."""
        for some in range(0, len(self.services), _AT_ONCE):
            await asyncio.gather(*(self._create(each) for each in self.services[some : some + _AT_ONCE]))

    async def run(self, seconds: float, *, per_second: float, pauses: int) -> None:
        """Does things for so long, and stops the API server for some seconds, so often."""
        begun = time.monotonic()
        due = [begun + seconds * (each + 1) / (pauses + 1) for each in range(pauses)]
        names, weights = list(self._steps), [weight for weight, _ in self._steps.values()]
        while (now := time.monotonic()) < begun + seconds:
            if due and now > due[0]:
                due.pop(0)
                await self._pause_server()
            (name,) = self._random.choices(names, weights)
            if await self._steps[name][1](self._random.choice(self.services)):
                self.done[name] += 1
            await asyncio.sleep(self._random.expovariate(per_second))

    def note(self, phases: Mapping[str, str]) -> None:
        """Keeps the phases of the services."""
        self._phases = phases

    async def end(self) -> None:
        """Deletes them all."""
        for service in self.services:
            if service.there:
                await self._api.delete(SIS, NAMESPACE, service.name)
                service.there = False

    async def _create(self, service: SoakService) -> bool:
        if service.there:
            return False
        try:
            made = await self._api.get(SIS, NAMESPACE, service.name)
            if made is not None:  # it is not gone yet
                return False
            await self._api.apply(SIS, NAMESPACE, service.body)
        except Refused:
            return False
        service.there, service.held = True, False
        service.asks.append(time.time())
        return True

    async def _delete(self, service: SoakService) -> bool:
        if not service.there or sum(each.there for each in self.services) < _LEAST_THERE * len(self.services):
            return False
        await self._api.delete(SIS, NAMESPACE, service.name)
        service.there = False
        return True

    async def _change(self, service: SoakService) -> bool:
        if not service.there:
            return False
        service.size = 16 + (service.size - 15) % 64
        await self._api.apply(SIS, NAMESPACE, service.body)
        return True

    async def _edit_child(self, service: SoakService) -> bool:
        return service.there and await self._patch_child(service, {"spec": {"predictor": {"minReplicas": 3}}})

    async def _patch_child(self, service: SoakService, body: dict[str, object]) -> bool:
        try:
            await self._api.merge(ISVC, NAMESPACE, service.name, body)
        except Refused:
            return False
        return True

    async def _delete_child(self, service: SoakService) -> bool:
        return service.there and await self._gone(ISVC, service.name)

    async def _delete_deployment(self, service: SoakService) -> bool:
        return service.there and await self._gone(DEPLOYMENT, f"{service.name}-predictor")

    async def _delete_pods(self, service: SoakService) -> bool:
        pods = [each["metadata"] for each in await self._api.items(POD, NAMESPACE)]
        ours = [each["name"] for each in pods if each["labels"][_OWNER] == service.name]
        return any([await self._gone(POD, name) for name in ours])

    async def _gone(self, kind: tuple[str, str], name: str) -> bool:
        try:
            await self._api.delete(kind, NAMESPACE, name)
        except Refused:
            return False
        return True

    async def _spoil(self, service: SoakService) -> bool:
        if service.bad:
            return False
        service.spoil(time.time())
        await _accept(service.number, USELESS)
        return True

    async def _heal(self, service: SoakService) -> bool:
        if not (service.bad and service.there and not service.held) or self._phases.get(service.name) != service.wanted:
            return False
        await _accept(service.number, GOOD)
        service.heal(time.time())
        service.asks.append(time.time())
        return await self._annotate(service, _RETRY, str(time.time()))

    async def _hold(self, service: SoakService) -> bool:
        if service.bad or service.held or not service.there or self._phases.get(service.name) != "Watching":
            return False
        service.held = await self._annotate(service, _HOLD, "soak")
        return service.held and await self._spoil(service)

    async def _release(self, service: SoakService) -> bool:
        if not (service.held and service.there):
            return False
        service.held = False
        return await self._annotate(service, _HOLD, None)

    async def _wipe_status(self, service: SoakService) -> bool:
        if not service.there:
            return False
        await self._api.merge(SIS, NAMESPACE, service.name, {"status": None}, "status")
        return True

    async def _annotate(self, service: SoakService, name: str, value: str | None) -> bool:
        await self._api.merge(SIS, NAMESPACE, service.name, {"metadata": {"annotations": {name: value}}})
        return True

    async def _pause_server(self) -> None:
        """The API server does not answer for some seconds."""
        self._stop(signal.SIGSTOP)
        await asyncio.sleep(_PAUSED_SECONDS)
        self._stop(signal.SIGCONT)
        self.done["pause API server"] += 1


async def _accept(number: int, value: float) -> None:
    url = f"http://{address_of(number)}:{PORT}/acceptance?number={number}&value={value}"
    async with aiohttp.ClientSession() as session, session.post(url) as answer:
        answer.raise_for_status()
