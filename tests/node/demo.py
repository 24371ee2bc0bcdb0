"""`make demo`: a draft pays, the traffic changes, and the operator sets the dial to nothing. The traffic changes back,
and the dial too. The second time it stays, and the operator takes speculation out. All of it is measured.

docs/demo.md describes what is measured, and how. The service stays afterwards. `pytest tests/node` leaves this out.
"""

import asyncio
import itertools
import pathlib
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

import pytest
import yaml
from hack.cluster import kserve, volumes
from kubernetes.aio.client.exceptions import ApiException
from lab import demo
from lab.demo import DemoAnswer, KServeRun, Reading, Span
from prometheus_client.parser import text_string_to_metric_families

from tests.node.film import LOST, Film
from tests.node.service import NAME, Service
from tests.wire.api import POD, SIS, Api, Object, Refused

ROOT = pathlib.Path(__file__).parents[2]
BASELINE, SPECULATIVE = (ROOT / "manifests" / "samples" / f"demo-{name}.yaml" for name in ("plain", "speculative"))
NAMESPACE = "demo"
MEASURED, SETTLING = 15.0, 4.0
"""Seconds. A new engine is slow for its first answers; counted in, they would flatter what is compared with it."""
PATIENCE = 315.0
"""Seconds for a rollout: a little more than its deadline, so that the operator's own message is there first."""
PAUSE = 0.5
AFTERWARDS = """
Look:    .venv/bin/python -m hack.cluster kubectl get sis,isvc,pods -n demo
Again:   make demo
Remove:  make cluster-down"""


def sample(file: pathlib.Path) -> Object:
    """The service of a sample. Both differ in speculation alone."""
    found: Object = yaml.safe_load(file.read_text(encoding="utf-8"))
    return found


@pytest.fixture
async def tiny(api: Api, model_folder: pathlib.Path) -> Service:
    """The service of the samples, without what an earlier run left."""
    service = Service(api, NAMESPACE, model_folder)
    await service.remove()
    await asyncio.to_thread(volumes.ensure_models, model_folder, NAMESPACE)
    return service


async def test_the_demo(tiny: Service, cluster: pathlib.Path) -> None:
    """The promises are kept: the time to the decision, to the dial in force, and to the patched InferenceService."""
    spec = sample(SPECULATIVE)["spec"]
    run = KServeRun(guard=spec["guard"], strategy=spec["rollout"]["strategy"], kserve=kserve.running())
    try:
        async with Film(cluster, NAMESPACE, NAME) as film, asyncio.TaskGroup() as group:
            reading = group.create_task(read(film, run))
            await Story(tiny, film, run).tell()
            reading.cancel()
        found = demo.report(run)
        demo.write(run, found, ROOT)
        print(f"\n{demo.words(found)}\nWritten: demo.json, demo.png")
        assert [each["what"] for each in found["promises"] if not each["kept"]] == []
    finally:
        print(AFTERWARDS)


class Story:
    """What happens, in order. After the second sample, only traffic is sent: the rest is the operator's doing."""

    def __init__(self, service: Service, film: Film, run: KServeRun) -> None:
        self._service = service
        self._film = film
        self._run = run

    async def tell(self) -> None:
        """Measures the baseline on both topics, the draft on both, and what is served after each decision."""
        with self._step("plain service comes up"):
            await self._apply(BASELINE, "Serving")
        with self._step("plain service measured"):
            await self._measure("plain_code", "code")
            await self._measure("plain_drift", "drift")
        with self._step("the same with speculation comes up"):
            await self._apply(SPECULATIVE, "Watching")
        with self._step("speculation measured on code"):
            await self._measure("code", "code", verdict="Pass")
            self._run.minimum = float(self._film.status["guard"]["thresholds"]["acceptanceRate"])
        await self._drifts()
        await self._recovers()
        await self._stays()
        with self._step("measured after the rollback"):
            await self._measure("after", "drift")

    async def _drifts(self) -> None:
        run, film, moments = self._run, self._film, self._run.moments
        async with traffic(self._service, "drift", run) as moments.onset:
            with self._step("the traffic drifts; the operator decides"):
                moments.decided = await film.phase("Dialled", moments.onset, 3 * run.decision_bound)
                run.spans["drift"] = Span(moments.onset, moments.decided)
                run.in_status["drift"] = self._acceptance()
                run.decision = film.status["guard"]["dial"]
            with self._step("the engine drafts nothing"):
                moments.dialled = await film.dialled(0, moments.onset, PATIENCE)
            with self._step("measured with the dial at nothing"):
                await asyncio.sleep(MEASURED)
                run.spans["dialled"] = Span(moments.dialled, time.monotonic())

    async def _recovers(self) -> None:
        run, moments = self._run, self._run.moments
        async with traffic(self._service, "code", run) as moments.recovered:
            with self._step("the traffic is code again; the dial goes up"):
                moments.up = await self._film.phase("Watching", moments.recovered, PATIENCE)
            with self._step("speculation measured on code again"):
                await asyncio.sleep(MEASURED)
                run.spans["again"] = Span(moments.up, time.monotonic())

    async def _stays(self) -> None:
        run, film, moments = self._run, self._film, self._run.moments
        async with traffic(self._service, "drift", run) as moments.second:
            with self._step("the traffic drifts again, and stays"):
                moments.dialled_again = await film.phase("Dialled", moments.second, 3 * run.decision_bound)
                moments.given_up = await film.phase("Responding", moments.second, PATIENCE)
            with self._step("speculation is taken out"):
                moments.patched = await film.baseline(moments.second, PATIENCE)
                moments.serving = await film.serving(moments.given_up, PATIENCE)
                moments.rolled_back = await film.phase("RolledBack", moments.given_up, PATIENCE)
                await self._service.until("the speculating pod is gone", self._alone, 90)

    async def _apply(self, file: pathlib.Path, phase: str) -> None:
        begun = time.monotonic()
        await self._service.api.apply(SIS, NAMESPACE, sample(file))
        await self._film.phase(phase, begun, PATIENCE)

    async def _measure(self, act: str, topic: str, verdict: str = "") -> None:
        async def judged() -> bool:
            return not verdict or self._film.status["guard"].get("verdict") == verdict

        async with traffic(self._service, topic, self._run):
            await asyncio.sleep(SETTLING)
            begin = time.monotonic()
            await asyncio.sleep(MEASURED)
            await self._service.until(f"verdict {verdict}", judged, 60)
            self._run.spans[act] = Span(begin, time.monotonic())
            self._run.in_status[act] = self._acceptance()

    async def _alone(self) -> bool:
        return len(await self._service.api.items(POD, NAMESPACE)) == 1

    def _acceptance(self) -> float | None:
        found: float | None = self._film.status.get("acceptance", {}).get("rate")
        return found

    @contextmanager
    def _step(self, name: str) -> Iterator[None]:
        print(f"… {name}", flush=True)
        begun = time.monotonic()
        yield
        self._run.steps[name] = round(time.monotonic() - begun, 1)
        print(f"✓ {name:<44}{self._run.steps[name]:7.1f} s", flush=True)


@asynccontextmanager
async def traffic(service: Service, topic: str, run: KServeRun) -> AsyncIterator[float]:
    """One client that sends one request after the other, from the first prompt on, for the length of a block.

    With two cores, a second client would measure the queue. The value is the moment before the first request; the last
    one is finished at the end of the block.
    """
    stopping = asyncio.Event()

    async def client() -> None:
        for number in itertools.count():
            while not stopping.is_set() and not await answered(service, service.prompt(topic, number), run):
                await asyncio.sleep(PAUSE)
            if stopping.is_set():
                return

    async with asyncio.TaskGroup() as group:
        onset = time.monotonic()
        group.create_task(client())
        yield onset
        stopping.set()


async def answered(service: Service, prompt: str, run: KServeRun) -> bool:
    """Whether a request was answered; either way it is in the run."""
    began = time.monotonic()
    try:
        answer = await service.ask(prompt, max_tokens=demo.MAX_TOKENS)
    except (Refused, *LOST) as error:
        run.failures.append((time.monotonic(), " ".join(f"{type(error).__name__}: {error}".split())[:160]))
        return False
    run.answers.append(DemoAnswer(began, time.monotonic(), int(answer["usage"]["completion_tokens"])))
    return True


async def read(film: Film, run: KServeRun) -> None:
    """Reads the counters of each ready pod's engine every second, for ever: a check of the operator's own numbers."""
    while True:
        due = time.monotonic() + 1.0
        for pod in sorted(film.ready):
            try:
                page = await film.text(f"/api/v1/namespaces/{NAMESPACE}/pods/http:{pod}:8080/proxy/metrics")
                found = counters(page)
            except (ApiException, ValueError, *LOST):
                continue
            if found:
                run.readings.append(Reading(time.monotonic(), pod, *found))
        await asyncio.sleep(max(0.0, due - time.monotonic()))


def counters(page: str) -> tuple[float, float] | None:
    """Drafted and accepted tokens, of all engines on a page of metrics; None where none of them speculates."""
    sums: dict[str, float] = {}
    for each in (each for family in text_string_to_metric_families(page) for each in family.samples):
        sums[each.name] = sums.get(each.name, 0.0) + each.value
    names = (f"vllm:spec_decode_num_{word}_tokens_total" for word in ("draft", "accepted"))
    drafted, accepted = (sums.get(name) for name in names)
    return None if drafted is None or accepted is None else (drafted, accepted)
