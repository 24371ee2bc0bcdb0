"""What happens, in order: cluster and operator are made ready; plain, with a draft, other traffic, the rollback.

After the second sample is applied, the demo only asks and watches: what happens to the service is the operator's doing.
"""

import asyncio
import functools
import json
import pathlib
import time
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Final, TypeVar

import yaml
from kubernetes.aio.dynamic import DynamicClient

from hack import images, install, machine
from hack.cluster import images as node
from hack.cluster import kserve, kubectl, lifecycle, packages, paths, record, shell, volumes
from hack.cluster.errors import ClusterError
from hack.cluster.record import Driver
from hack.demo.observed import Kind, Moments, Observed, connected
from hack.demo.report import Act, Recording, decision_bound
from hack.demo.screen import Screen, sparkline
from hack.demo.traffic import Reading, Span, Topic, Traffic, acceptances, rate, read_engines
from hack.models import store
from specdec_operator import names
from specdec_operator.api.spec import Spec

T = TypeVar("T")
_ROOT: Final = pathlib.Path(__file__).parents[2]
PLAIN: Final = _ROOT / "manifests" / "samples" / "demo-plain.yaml"
SPECULATIVE: Final = PLAIN.with_name("demo-speculative.yaml")
NAMESPACE, NAME = "demo", "tiny"
_SPACE: Final = f"namespaces/{NAMESPACE}"
_SERVICES: Final = f"/apis/{names.API_VERSION}/{_SPACE}/{names.PLURAL}"
_CHILDREN: Final = f"/apis/{names.KSERVE_GROUP}/{names.KSERVE_VERSION}/{_SPACE}/inferenceservices"
_COMPLETIONS: Final = f"/api/v1/{_SPACE}/services/http:{NAME}-predictor:80/proxy/v1/completions"
_MEASURED_SECONDS: Final = 15.0
_SETTLING_SECONDS: Final = 4.0
"""A new engine is slow for its first answers; counted in, they would flatter whatever is compared with it."""
_GRACE_SECONDS: Final = 15.0
"""Beyond the operator's own deadline for a rollout, so that its message is there first."""
_LOOK_SECONDS: Final = 0.1
_LIVE_SECONDS: Final = 2.0


def spec(file: pathlib.Path) -> Spec:
    """The spec of a sample. Both differ in speculation alone."""
    return Spec.model_validate(yaml.safe_load(file.read_text(encoding="utf-8"))["spec"])


async def run(screen: Screen) -> Recording:
    """Make everything ready, and run the story once."""
    folder = await ready(screen)
    prompts = json.loads((folder / "prompts.json").read_text(encoding="utf-8"))
    async with connected(kubectl.config()) as api:
        return await Story(api, spec(SPECULATIVE), prompts, screen).run()


async def ready(screen: Screen) -> pathlib.Path:
    """Make what is missing of cluster, images, models and operator; return the folder of the models.

    The cluster is compiled while the images are downloaded and the models trained: the one waits for the processor and
    the other for the network.
    """

    async def images_and_models() -> None:
        await screen.program("images built", "hack.images", "all")
        await screen.program("tiny models", "hack.models")

    if record.read(paths.layout()) is None and lifecycle.pick() is Driver.NODE and packages.missing():
        # Before anything else, because Debian's package manager serves one caller at a time.
        with screen.step("Debian packages") as note:
            await asyncio.to_thread(packages.ensure, note)
    async with asyncio.TaskGroup() as group:
        group.create_task(screen.program("local cluster", "hack.cluster", "up"))
        group.create_task(images_and_models())
    refs = images.refs()
    if not all([node.has(refs.operator), node.has(refs.runtime)]):
        await screen.program("images onto the node", "hack.images", "all")
    with screen.step("operator installed"):
        await asyncio.to_thread(install.ensure, refs)
        folder = await asyncio.to_thread(store.ensure)
        await asyncio.to_thread(volumes.ensure_models, folder, NAMESPACE)
    return folder


class Story:
    """One run on a cluster that is ready."""

    def __init__(self, api: DynamicClient, sample: Spec, prompts: dict[str, list[str]], screen: Screen) -> None:
        self._api = api
        self._spec = sample
        self._screen = screen
        self._traffic = Traffic(api, _COMPLETIONS, (sample.model and sample.model.name) or NAME, prompts)
        self._observed = Observed()
        self._readings: list[Reading] = []
        self._spans: dict[Act, Span] = {}
        self._in_status: dict[Act, float | None] = {}
        self._minimum = 0.0
        self._patience = sample.rollout.deadline + _GRACE_SECONDS

    async def run(self) -> Recording:
        """Run it beside the watches."""
        async with asyncio.TaskGroup() as group:
            beside = [group.create_task(each) for each in self._beside()]
            await self._remove()
            await self._plain()
            await self._speculate()
            moments = await self._drift()
            for task in beside:
                task.cancel()
        return Recording(
            spec=self._spec,
            kserve=kserve.running(),
            machine=machine.describe(),
            origin=machine.origin(),
            completions=self._traffic.completions,
            failures=self._traffic.failures,
            readings=self._readings,
            spans=self._spans,
            in_status=self._in_status,
            minimum=self._minimum,
            moments=moments,
            rollback=self._guard()["rollback"],
            steps=self._screen.seconds(),
        )

    def _beside(self) -> list[Coroutine[Any, Any, None]]:
        """What runs beside the story: the watches, the engine's counters, and the screen."""
        watch = functools.partial(self._observed.watch, self._api)
        named, pods, events = f"metadata.name={NAME}", f"/api/v1/{_SPACE}/pods", f"/api/v1/{_SPACE}/events"
        return [
            watch(Kind.SERVICE, _SERVICES, field_selector=named),
            watch(Kind.CHILD, _CHILDREN, field_selector=named),
            watch(Kind.POD, pods, label_selector=f"{names.OWNER_LABEL}={NAME}"),
            watch(Kind.EVENT, events, field_selector=f"involvedObject.kind={names.KIND}"),
            read_engines(self._api, pods, self._observed.ready_pods, self._readings),
            self._show(),
        ]

    async def _remove(self) -> None:
        """Remove what an earlier run left."""
        with self._screen.step("what was there before is removed"):
            await self._until("the lists of what is there", lambda: self._observed.listed == set(Kind), 30, going=True)
            words = ("delete", f"--filename={PLAIN}", "--ignore-not-found", "--wait=false")
            await asyncio.to_thread(shell.run, kubectl.command(kubectl.config(), *words))
            await self._until("the earlier service is gone", self._observed.empty, 90, going=True)

    async def _plain(self) -> None:
        """Serve without speculation and measure both topics, to compare like with like."""
        with self._screen.step("plain service comes up"):
            await self._apply(PLAIN, "Serving")
        with self._screen.step("plain service measured"):
            await self._measure(Act.PLAIN_CODE, Topic.CODE)
            await self._measure(Act.PLAIN_DRIFT, Topic.DRIFT)

    async def _speculate(self) -> None:
        """Serve the same with a draft, and measure the topic that the draft knows."""
        with self._screen.step("the same with speculation comes up"):
            await self._apply(SPECULATIVE, "Watching")
        with self._screen.step("speculation measured on code"):
            await self._measure(Act.CODE, Topic.CODE, enough=lambda: self._guard().get("verdict") == "Pass")
            self._minimum = float(self._guard()["thresholds"]["acceptanceRate"])

    async def _drift(self) -> Moments:
        """Change the topic, and wait for what the operator does about it."""
        seen = self._observed
        async with self._traffic.about(Topic.DRIFT) as onset:
            with self._screen.step("the traffic drifts; the operator decides"):
                bound = 3 * decision_bound(self._spec)
                decided = await self._until("the operator's decision", lambda: seen.decided(onset), bound)
                self._spans[Act.DRIFT] = Span(onset, decided)
                self._in_status[Act.DRIFT] = self._acceptance()
            with self._screen.step("speculation is taken out"):
                found = await self._until("a plain pod serves", lambda: seen.rollback(onset), self._patience)
                await self._until("the speculating pod is gone", lambda: len(seen.pods) == 1, 90)
        with self._screen.step("measured after the rollback"):
            await self._measure(Act.AFTER, Topic.DRIFT)
        return found

    async def _apply(self, file: pathlib.Path, phase: str) -> None:
        await asyncio.to_thread(kubectl.apply_files, kubectl.config(), [file])
        await self._until(f"phase {phase}", lambda: self._observed.phase == phase, self._patience)

    async def _measure(self, act: Act, topic: Topic, enough: Callable[[], bool] = lambda: True) -> None:
        async with self._traffic.about(topic):
            await asyncio.sleep(_SETTLING_SECONDS)
            begin = time.monotonic()
            await asyncio.sleep(_MEASURED_SECONDS)
            await self._until("a window that passes", enough, 60)
            self._spans[act] = Span(begin, time.monotonic())
            self._in_status[act] = self._acceptance()

    async def _until(self, what: str, probe: Callable[[], T | None], seconds: float, *, going: bool = False) -> T:
        """Wait until a probe finds something. going: the service is to go, which one that has stalled can."""
        deadline = time.monotonic() + seconds
        while not (found := probe()):
            status = self._observed.status
            says = f"the service says {status.get('phase', 'no phase')}: {status.get('message', 'no message')}"
            if status.get("phase") == "Stalled" and not going:
                raise ClusterError(f"waiting for {what}, the service has stalled: {says}")
            if time.monotonic() > deadline:
                raise ClusterError(f"{what}: not within {seconds:.0f} s; {says}")
            await asyncio.sleep(_LOOK_SECONDS)
        return found

    def _guard(self) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self._observed.status.get("guard", {})
        return found

    def _acceptance(self) -> float | None:
        rate = self._observed.status.get("acceptance", {}).get("rate")
        return None if rate is None else float(rate)

    async def _show(self) -> None:
        while True:
            self._screen.show(self._now(self._traffic.topic) if self._traffic.topic else {})
            await asyncio.sleep(0.25)

    def _now(self, topic: Topic) -> dict[str, str]:
        now, recent, failed = time.monotonic(), self._traffic.completions[-200:], len(self._traffic.failures)
        ends = [now - 0.5 - _LIVE_SECONDS * back for back in reversed(range(20))]
        speeds = [rate(recent, Span(end - _LIVE_SECONDS, end)) for end in ends]
        newest = acceptances([each for each in self._readings[-20:] if each.at > now - 5])
        return {
            "phase": self._observed.phase or "-",
            "traffic": topic,
            "acceptance": f"{newest[-1][1]:.2f}" if newest else "-",
            "tokens/s": f"{speeds[-1]:.0f} {sparkline(speeds)}",
            "requests": f"{len(self._traffic.completions)} answered, {failed} failed",
            "last event": self._observed.last_event or "-",
        }
