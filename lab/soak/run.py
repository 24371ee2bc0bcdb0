"""One soak: an empty operator, a fleet, churn, rest, and at last nothing again; and what is wrong with any of it."""

import asyncio
import json
import pathlib
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime

import aiohttp
from tests.wire.api import DEPLOYMENT, EVENT, ISVC, POD, SIS, Object, Refused

from lab.scale.fleet import NAMESPACE
from lab.soak.churn import Churn
from lab.soak.samples import Sample, growth, sample
from lab.soak.stage import Stage, stage
from specdec_operator.report.service_metrics import MOST_SERIES

_OWNER = "serving.specdec.io/name"
REPLICA_SET = "apps/v1", "replicasets"
_PATIENCE = 900.0
_EVERY = 5.0
_REST = 20.0
"""Seconds after which most of what is not used is closed: kopf's queues of one object, connections kept alive."""
_GONE = 120.0
"""Seconds after which all of it is, for aiohttp looks for such connections every 15 s and there is always an event."""
_STEPS_A_SECOND, _PAUSE_EVERY = 2.0, 300.0
_MOST_STATUS = 16 * 1024
_MOST_EVENTS = 12
_FEW = 5
_KEPT_ALIVE = 40
"""Sockets that may wait for another use: as many as may be asked at once, and some to the API server."""


@dataclass(kw_only=True)
class SoakResult:
    """What a soak found. wrong: a sentence for each invariant that does not hold; numbers: what was counted."""

    samples: list[Sample] = field(default_factory=list)
    numbers: dict[str, float] = field(default_factory=dict)
    done: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)


class Soak:
    """One run."""

    def __init__(self, on: Stage, size: int, seed: int) -> None:
        self.found = SoakResult()
        self._on = on
        self._churn = Churn(on.api, size, seed=seed, stop=on.stop)
        self._begun = time.monotonic()
        self._bodies: dict[str, Object] = {}

    async def run(self, seconds: float) -> None:
        """All of it."""
        looking = asyncio.create_task(self._look_on())
        try:
            await asyncio.sleep(_REST)
            empty = await self._sample()
            await self._churn.begin()
            await self._settle("made")
            await asyncio.sleep(_REST)
            rest = await self._sample()
            await self._churn.run(seconds, per_second=_STEPS_A_SECOND, pauses=max(1, round(seconds / _PAUSE_EVERY)))
            await self._settle("settled")
            await self._check_rest(empty, rest)
            await self._churn.end()
            await self._until("emptied", self._nothing)
            await self._check_empty(empty)
        finally:
            looking.cancel()
        self._check_words()

    async def _look_on(self) -> None:
        """Records the services' status each second, and what the operator uses every few seconds."""
        due = 0.0
        while True:
            with suppress(Refused, aiohttp.ClientError, TimeoutError, OSError):
                await self._note()
                if (now := time.monotonic()) >= due:
                    due = now + _EVERY
                    self.found.samples.append(await self._sample())
            await asyncio.sleep(1.0)

    async def _note(self) -> None:
        bodies = {each["metadata"]["name"]: each for each in await self._on.api.items(SIS, NAMESPACE)}
        self._bodies = bodies
        self._churn.note({name: str(each.get("status", {}).get("phase")) for name, each in bodies.items()})
        for service in self._churn.services:
            guard = bodies.get(service.name, {}).get("status", {}).get("guard", {})
            if at := guard.get("rollback", {}).get("at"):
                service.decided.add(datetime.fromisoformat(at).timestamp())

    async def _sample(self) -> Sample:
        operator = self._on.operator
        return await sample(operator.pid, operator.metrics_port, time.monotonic() - self._begun)

    async def _until(self, what: str, probe: Callable[[], Awaitable[list[str]]]) -> None:
        """Waits until the probe finds no fault; faults that are left at the end are wrong."""
        begun = time.monotonic()
        while left := await probe():
            if time.monotonic() - begun > _PATIENCE:
                self.found.wrong += [f"not {what} after {_PATIENCE:.0f} s: {each}" for each in left[:_FEW]]
                break
            await asyncio.sleep(1.0)
        self.found.numbers[f"{what}_seconds"] = time.monotonic() - begun
        print(f"{what} after {time.monotonic() - begun:.0f} s", flush=True)

    async def _rested(self, closed: Callable[[Sample], bool]) -> Sample:
        """The first sample at rest in which everything unused is closed; the last one where that never comes."""
        begun = time.monotonic()
        await asyncio.sleep(_REST)
        while not closed(found := await self._sample()) and time.monotonic() - begun < _GONE:
            await asyncio.sleep(_EVERY)
        return found

    async def _settle(self, what: str) -> None:
        await self._until(what, self._unsettled)

    async def _unsettled(self) -> list[str]:
        """What is not as it must come to be: phases, InferenceServices, Deployments, pods."""
        await self._note()
        said = []
        for service in self._churn.services:
            status = self._bodies.get(service.name, {}).get("status", {})
            if not service.there:
                continue
            if status.get("phase") != service.wanted:
                said.append(f"{service.name} is {status.get('phase')}, not {service.wanted}")
            elif service.would and not status["guard"].get("would"):
                said.append(f"{service.name} is held and does not say what it would do")
        there = {service.name for service in self._churn.services if service.there}
        return said + await self._strangers(there)

    async def _nothing(self) -> list[str]:
        return await self._strangers(set())

    async def _strangers(self, there: set[str]) -> list[str]:
        """Objects too many or too few: of each kind there is one for each service."""
        said = []
        for kind in (SIS, ISVC, DEPLOYMENT, POD):
            bodies = await self._on.api.items(kind, NAMESPACE)
            names = Counter(
                each["metadata"]["labels"][_OWNER] if kind is not SIS else each["metadata"]["name"] for each in bodies
            )
            said += [f"{count} {kind[1]} of {name}" for name, count in names.items() if name not in there or count > 1]
            said += [f"no {kind[1]} of {name}" for name in there - set(names)]
        if not there:
            said += [
                f"a ReplicaSet is left: {each['metadata']['name']}"
                for each in await self._on.api.items(REPLICA_SET, NAMESPACE)
            ]
        return said

    async def _check_rest(self, empty: Sample, before: Sample) -> None:
        """While the fleet rests after the churn."""
        there, most_files = {each.name for each in self._churn.services if each.there}, before.files + _KEPT_ALIVE
        most = empty.tasks + (before.tasks - empty.tasks) / max(1, before.loops) * len(there) + _FEW
        after = await self._rested(lambda now: now.tasks <= most and now.files <= most_files)
        statuses = [len(json.dumps(each.get("status", {}))) for each in self._bodies.values()]
        events = len(await self._on.api.items(EVENT, NAMESPACE))
        done = self._churn.done.total() + len(self._churn.services)
        self._put(
            services=len(there), steps=done, loops=after.loops, tasks_before=before.tasks, tasks_after=after.tasks
        )
        self._put(files_before=before.files, files_after=after.files, sockets_before=before.sockets)
        self._put(sockets_after=after.sockets, most_series=after.most_series, status_bytes_max=max(statuses))
        self._put(events=events, events_a_step=events / done, rss_mb=after.rss_mb)
        self._put(rollbacks=sum(len(each.decided) for each in self._churn.services))
        self._must(after.loops == len(there), f"{after.loops} loops for {len(there)} services")
        self._must(
            after.tasks <= most,
            f"{after.tasks} tasks for {after.loops} loops, {before.tasks} for {before.loops} before",
        )
        self._must(after.files <= most_files, f"{after.files} files open, {before.files} before")
        self._must(after.names <= there, f"series of deleted services: {sorted(after.names - there)[:_FEW]}")
        self._must(after.most_series <= MOST_SERIES, f"{after.most_series} series of one service")
        self._must(max(statuses) <= _MOST_STATUS, f"a status of {max(statuses)} bytes")
        self._must(events / done <= _MOST_EVENTS, f"{events} Events for {done} steps")
        self.found.wrong += [fault for each in self._churn.services for fault in each.faults()]

    async def _check_empty(self, before: Sample) -> None:
        """When all services are deleted, nothing is left of them."""
        most, files = before.tasks + _FEW, before.files + _FEW
        after = await self._rested(lambda now: now.tasks <= most and now.files <= files)
        self._put(tasks_empty_before=before.tasks, tasks_empty_after=after.tasks, files_empty_before=before.files)
        self._put(files_empty_after=after.files, rss_empty_before=before.rss_mb, rss_empty_after=after.rss_mb)
        self._must(after.loops == 0, f"{after.loops} loops without a service")
        self._must(not after.names, f"series without a service: {sorted(after.names)[:_FEW]}")
        self._must(after.tasks <= most, f"{after.tasks} tasks are left, {before.tasks} at the start")
        self._must(after.files <= files, f"{after.files} files are open, {before.files} at the start")

    def _check_words(self) -> None:
        lines = self._on.operator.log.read_text().splitlines()
        bad = [line for line in lines if "Traceback" in line or '"severity": "error"' in line.lower()]
        self._put(log_lines=len(lines), log_errors=len(bad), rss_mb_an_hour=growth(self.found.samples))
        self._must(not bad, f"{len(bad)} errors in the log, the first: {bad[0][:600] if bad else ''}")
        self.found.done = self._churn.done

    def _must(self, holds: bool, otherwise: str) -> None:
        if not holds:
            self.found.wrong.append(otherwise)

    def _put(self, **numbers: float) -> None:
        self.found.numbers |= numbers


async def soak(size: int, seconds: float, folder: pathlib.Path, *, seed: int = 9) -> SoakResult:
    """Runs one; returns what it found, whatever that is."""
    async with stage(folder, size) as on:
        made = Soak(on, size, seed)
        await made.run(seconds)
        return made.found
