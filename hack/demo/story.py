"""The story: plain, then with a draft, then the traffic drifts and the operator decides. Only the traffic is ours.

From the moment the second sample is applied, nothing here touches the service: what happens to it is the operator's.
"""

import asyncio
import time
from collections.abc import Callable

from hack.cluster import access, kubectl
from hack.cluster.errors import ClusterError
from hack.demo import moments, speed
from hack.demo.connection import Connection
from hack.demo.counters import course
from hack.demo.moments import Moments
from hack.demo.observer import Observer
from hack.demo.recording import Act, Decision
from hack.demo.samples import Sample
from hack.demo.screen import Panel, Screen
from hack.demo.speed import Span
from hack.demo.traffic import Topic, Traffic
from specdec_operator import names

_MEASURED_SECONDS = 15.0
_SETTLING_SECONDS = 4.0
"""A new engine is slow for its first answers; counted in, they would flatter whatever is compared with it."""
_GRACE_SECONDS = 15.0
_LOOK_SECONDS = 0.1
_LIVE_SECONDS = 2.0


class Story:
    """One telling. `spans`, `told` and `minimum`, the acceptance that the guard asks for, fill while it runs."""

    def __init__(self, connection: Connection, observer: Observer, traffic: Traffic, screen: Screen) -> None:
        self._connection = connection
        self._world = observer.world
        self._observer = observer
        self._traffic = traffic
        self._screen = screen
        self.spans: dict[Act, Span] = {}
        self.told: dict[Act, float | None] = {}
        self.minimum = 0.0

    async def begin(self, sample: Sample) -> None:
        """Remove what an earlier run left."""
        with self._screen.step("what was there before is removed"):
            await self._until("the lists of what is there", self._observer.complete, 30, leaving=True)
            path = f"/apis/{names.API_VERSION}/namespaces/{sample.namespace}/{names.PLURAL}/{sample.name}"
            await self._connection.delete(path)
            await self._until("the earlier service is gone", self._world.empty, 90, leaving=True)

    async def plain(self, sample: Sample) -> None:
        """Serve without speculation and measure both kinds of traffic, to compare like with like."""
        with self._screen.step("plain service comes up"):
            await self._apply(sample)
            await self._phase("Serving", sample)
        with self._screen.step("plain service measured"):
            await self._measure(Act.PLAIN_CODE, Topic.CODE)
            await self._measure(Act.PLAIN_DRIFT, Topic.DRIFT)

    async def speculate(self, sample: Sample) -> None:
        """Serve the same with a draft, and measure the traffic that the draft knows."""
        with self._screen.step("the same with speculation comes up"):
            await self._apply(sample)
            await self._phase("Watching", sample)
        with self._screen.step("speculation measured on code"):
            await self._measure(Act.CODE, Topic.CODE, enough=lambda: self._verdict() == "Pass")
            self.minimum = float(self._world.status["guard"]["thresholds"]["acceptanceRate"])

    async def drift(self, sample: Sample) -> tuple[Moments, Decision]:
        """Let the traffic change, and wait for what the operator does about it."""
        with self._screen.step("the traffic drifts; the operator decides"):
            onset = self._traffic.start(Topic.DRIFT)
            decided = await self._decision(onset, 3 * sample.decision_bound)
            self.spans[Act.DRIFT] = Span(begin=onset, end=decided)
            self.told[Act.DRIFT] = self._told()
        with self._screen.step("speculation is taken out"):
            await self._until("the plain service serves again", lambda: self._over(onset), _patience(sample))
            await self._until("the speculating pod is gone", lambda: len(self._world.pods) == 1, 90)
            await self._traffic.stop()
        with self._screen.step("measured after the rollback"):
            await self._measure(Act.AFTER, Topic.DRIFT)
        found = moments.pick(self._world, onset)
        if found is None:
            raise ClusterError(f"the rollback was not seen whole: {self._world.turns} {self._world.asked}")
        rollback = self._world.status["guard"]["rollback"]
        return found, Decision(reason=rollback["reason"], message=rollback["message"], at=rollback["at"])

    async def show(self) -> None:
        """Keep the screen at the present, for as long as the story runs."""
        while True:
            self._screen.show(self._panel() if self._traffic.topic else None)
            await asyncio.sleep(0.25)

    async def _measure(self, act: Act, topic: Topic, enough: Callable[[], bool] = lambda: True) -> None:
        self._traffic.start(topic)
        await asyncio.sleep(_SETTLING_SECONDS)
        begin = time.monotonic()
        await asyncio.sleep(_MEASURED_SECONDS)
        await self._until("a window that passes", enough, 60)
        self.spans[act] = Span(begin=begin, end=time.monotonic())
        self.told[act] = self._told()
        await self._traffic.stop()

    async def _apply(self, sample: Sample) -> None:
        await asyncio.to_thread(kubectl.apply_files, access.kubeconfig(), [sample.file])

    async def _phase(self, wanted: str, sample: Sample) -> None:
        await self._until(f"phase {wanted}", lambda: self._world.phase == wanted, _patience(sample))

    async def _decision(self, onset: float, seconds: float) -> float:
        await self._until(
            "the operator's decision", lambda: moments.decided_at(self._world, onset) is not None, seconds
        )
        return moments.decided_at(self._world, onset) or 0.0

    def _over(self, onset: float) -> bool:
        return moments.pick(self._world, onset) is not None

    async def _until(self, what: str, probe: Callable[[], bool], seconds: float, *, leaving: bool = False) -> None:
        """Wait for something; the error tells what the sis says instead. One that stalls will not come, but may go."""
        deadline = time.monotonic() + seconds
        while not probe():
            status = self._world.status
            said = f"{status.get('phase', 'no phase')}: {status.get('message', 'no message')}"
            if status.get("phase") == "Stalled" and not leaving:
                raise ClusterError(f"waiting for {what}, the service has stalled: {said}")
            if time.monotonic() > deadline:
                raise ClusterError(f"{what}: not within {seconds:.0f} s; the sis says {said}")
            await asyncio.sleep(_LOOK_SECONDS)

    def _verdict(self) -> str:
        return str(self._world.status.get("guard", {}).get("verdict", ""))

    def _told(self) -> float | None:
        rate = self._world.status.get("acceptance", {}).get("rate")
        return None if rate is None else float(rate)

    def _panel(self) -> Panel:
        now, recent = time.monotonic(), self._traffic.completions[-200:]
        ends = [now - 0.5 - _LIVE_SECONDS * back for back in reversed(range(20))]
        newest = course([each for each in self._observer.readings[-20:] if each.at > now - 5])
        return Panel(
            phase=self._world.phase,
            topic=self._traffic.topic or "",
            clients=self._traffic.clients,
            speeds=tuple(speed.rate(recent, Span(begin=end - _LIVE_SECONDS, end=end)) for end in ends),
            acceptance=newest[-1][1] if newest else None,
            answered=len(self._traffic.completions),
            failed=len(self._traffic.failures),
            last_event=self._world.last_event,
        )


def _patience(sample: Sample) -> float:
    """Longer than the operator's own deadline for a rollout, so that its words are heard first."""
    return sample.spec.rollout.deadline + _GRACE_SECONDS
