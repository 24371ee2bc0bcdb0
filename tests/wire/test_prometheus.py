"""A real Prometheus server between the pods and the reader: it returns the numbers of the pods' pages, or nothing.

Prometheus takes five seconds to its first scrape, so one server scrapes all the targets of these tests.
"""

import asyncio
import gzip
import json
import os
import pathlib
import signal
import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import pytest
import pytest_asyncio
from hack.cluster import process

from specdec_operator.api.guard import Prometheus
from specdec_operator.guard.counters import Counters, read_counters
from specdec_operator.scrape.prometheus import PrometheusReader
from tests import prometheus as server
from tests.hostile_http import HostileServer, answering
from tests.wire.pods import EngineStandIn, PodServer

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.xdist_group("prometheus")]  # one server of it

TRACES = pathlib.Path(__file__).parents[1] / "data" / "traces"
NAMESPACE = "team-a"
ODD = 'a"}[1m]) or up{x="\\b|.*'
"""A name that would end the string, the query and the pattern, if it could."""
RANKS = "process_start_time_seconds 5\n" + "".join(
    f'vllm:generation_tokens_total{{engine="{rank}",model_name="m"}} {tokens}\n' for rank, tokens in enumerate((3, 4))
)
OWN_POD = 'process_start_time_seconds 5\nvllm:generation_tokens_total{engine="0",namespace="own",pod="inner"} 7\n'
NO_NUMBER = 'process_start_time_seconds 5\nvllm:generation_tokens_total{engine="0"} NaN\n'
PROXY = "process_start_time_seconds 4\n"
ROUNDED = 0.1
"""Seconds; more than Prometheus moves the time of a scrape to keep its rhythm."""


@dataclass(kw_only=True)
class Scene:
    """A server, the engines behind it by pod, and the recorded pages by pod."""

    server: server.Server
    engines: Mapping[str, EngineStandIn]
    pods: Mapping[str, PodServer]
    recorded: Mapping[str, str]
    reader: PrometheusReader = field(default_factory=lambda: PrometheusReader(clock=time.time, timeout=2.0, limit=8))

    async def look(self, *pods: str, since: float, **labels: str) -> dict[str, Counters | None]:
        """One look at these pods."""
        namespace = labels.pop("namespace", NAMESPACE)
        return await self.reader.read(Prometheus(url=self.server.url, **labels), namespace, pods, since=since)

    async def until_read(self, *pods: str, since: float, **labels: str) -> dict[str, Counters]:
        """Looks until each of these pods has a sample newer than `since`."""
        deadline = time.monotonic() + 20
        while True:
            found = await self.look(*pods, since=since, **labels)
            read = {pod: reading for pod, reading in found.items() if reading is not None}
            if read.keys() == found.keys():
                return read
            assert time.monotonic() < deadline, found
            await asyncio.sleep(0.1)

    async def until_scraped(self, pod: str, targets: int) -> None:
        """Waits until the server has samples of all targets of a pod: it begins with each at a time of its own."""
        asked = {"query": f'count(vllm:generation_tokens_total{{pod="{pod}"}})'}
        async with asyncio.timeout(20), aiohttp.ClientSession() as session:
            while True:
                async with session.get(f"{self.server.url}/api/v1/query", params=asked) as answer:
                    found = (await answer.json())["data"]["result"]
                if found and int(found[0]["value"][1]) == targets:
                    return
                await asyncio.sleep(0.1)

    async def unread(self, pod: str, *, since: float, seconds: float = 2.5) -> None:
        """Nothing is read of this pod for a while in which the server scrapes it again and again."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            assert await self.look(pod, since=since) == {pod: None}
            await asyncio.sleep(0.1)


def recordings() -> dict[str, str]:
    """Of each recording and pod, a page of its middle and its last page."""
    found: dict[str, str] = {}
    for file in sorted(TRACES.glob("*.jsonl.gz")):
        pages: dict[str, list[str]] = {}
        with gzip.open(file, "rt") as lines:
            for scrape in filter(lambda each: each["ok"], map(json.loads, lines)):
                pages.setdefault(scrape["pod"], []).append(scrape["text"])
        for pod, texts in pages.items():
            found |= {f"{file.name}/{pod}/middle": texts[len(texts) // 2], f"{file.name}/{pod}/last": texts[-1]}
    return found


def target(address: str, pod: str, path: str = "/metrics", **labels: str) -> dict[str, Any]:
    """What service discovery finds."""
    return {"targets": [address], "labels": {"pod": pod, "namespace": NAMESPACE, "__metrics_path__": path} | labels}


def job(name: str, *targets: dict[str, Any]) -> dict[str, Any]:
    """A scrape job."""
    return {"job_name": name, "static_configs": list(targets)}


def config(pods: Mapping[str, PodServer], fixed: Mapping[str, tuple[str, str]]) -> dict[str, Any]:
    """Engines of one pod each; one scraped by two jobs; two in one pod; pages that stay."""
    engines = {name: target(f"{pod.address}:8080", name) for name, pod in pods.items()}
    both = [target(f"{pods[name].address}:8080", "both") for name in ("steady", "twice")]
    beside = [target(address, "mesh", path) for address, path in (fixed["engine"], fixed["proxy"])]
    pages = [target(address, name, path) for name, (address, path) in fixed.items()]
    jobs = [job("engines", *engines.values()), job("again", engines["twice"]), job("both", *both)]
    quick = {"scrape_interval": "1s", "scrape_timeout": "1s"}
    return {"global": quick, "scrape_configs": [*jobs, job("mesh", *beside), job("pages", *pages)]}


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def scene(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Scene]:
    """Everything that these tests look at, scraped once a second."""
    engines = {name: EngineStandIn(tokens_per_second=500) for name in ("steady", "twice", "restarts", "hangs", "goes")}
    pods = {name: PodServer(engine) for name, engine in engines.items()}
    for pod in pods.values():
        await pod.start()
    recorded = recordings()
    extra = {"ranks": RANKS, ODD: RANKS, "own": OWN_POD, "no-number": NO_NUMBER, "engine": RANKS, "proxy": PROXY}
    paths = {name: f"/{number}" for number, name in enumerate(recorded | extra)}
    texts = {
        paths[name]: answering(text.encode(), b"Content-Type: text/plain") for name, text in (recorded | extra).items()
    }
    pages = await HostileServer(texts).__aenter__()
    fixed = {name: (f"{pages.address}:{pages.port}", path) for name, path in paths.items()}
    folder = tmp_path_factory.mktemp("prometheus")
    running = await asyncio.to_thread(server.start, folder, config(pods, fixed))
    made = Scene(server=running, engines=engines, pods=pods, recorded=recorded)
    try:
        yield made
    finally:
        await asyncio.to_thread(server.stop, running)
        await made.reader.close()
        await pages.__aexit__()
        for pod in pods.values():
            await pod.stop()


def direct(scene: Scene, pod: str) -> Counters:
    """The counters on the pod's page, read without a server in between."""
    return read_counters(scene.engines[pod].page())


async def test_counters_are_those_of_the_page(scene: Scene) -> None:
    """All of them, to the last digit, once the engine stands still; with a second job they are not twice as many."""
    await scene.until_read("steady", "twice", since=0.0)
    for pod in ("steady", "twice"):
        scene.engines[pod].tokens_per_second = 0.0
    read = await scene.until_read("steady", "twice", since=time.time())
    assert read == {pod: direct(scene, pod) for pod in ("steady", "twice")}
    assert read["steady"].requests > 0
    assert read["steady"].accepted_per_position[3] > 0
    assert read["steady"].running == 0
    for pod in ("steady", "twice"):
        scene.engines[pod].tokens_per_second = 500.0


async def test_under_traffic_a_reading_lies_between_two_of_the_page(scene: Scene) -> None:
    """One scrape is one moment: the numbers in it belong together, although they move."""
    before, begun = direct(scene, "twice"), time.time()
    read = (await scene.until_read("twice", since=begun))["twice"]
    after = direct(scene, "twice")
    assert before.generation_tokens <= read.generation_tokens <= after.generation_tokens
    assert read.accepted_tokens / read.draft_tokens == pytest.approx(0.8)
    assert read.generation_tokens == pytest.approx(read.drafts + read.accepted_tokens)


async def test_recorded_pages_of_a_real_engine_come_back_equal(scene: Scene) -> None:
    """Every recording, in one request."""
    read = await scene.until_read(*scene.recorded, since=time.time())
    assert read == {name: read_counters(text) for name, text in scene.recorded.items()}
    assert len(read) >= 44


async def test_a_pod_that_hangs_is_unread_until_it_answers(scene: Scene) -> None:
    """The server keeps its last number for five minutes, but it is out of date; its neighbour is read all the while."""
    await scene.until_read("hangs", since=0.0)
    scene.engines["hangs"].hangs = True
    hung = time.time() + ROUNDED
    await scene.unread("hangs", since=hung)
    assert (await scene.look("steady", since=hung))["steady"] is not None
    scene.engines["hangs"].hangs = False
    await scene.until_read("hangs", since=time.time())


async def test_two_engines_in_one_pod_are_not_read(scene: Scene) -> None:
    """Each of them is, by its own pod's name."""
    await scene.until_scraped("both", 2)
    await scene.unread("both", since=time.time() - 5)


async def test_a_proxy_next_to_the_engine_does_not_count_as_an_engine(scene: Scene) -> None:
    """Its page has the start of its own process."""
    read = await scene.until_read("mesh", since=time.time())
    assert read["mesh"].started == 5


async def test_a_name_is_a_name(scene: Scene) -> None:
    """Whatever signs it has, it is found by itself alone, and finds nothing else."""
    read = await scene.until_read(ODD, "ranks", since=time.time())
    assert read[ODD] == read["ranks"]
    for odd in (".*", "ranks|steady", 'x"} or {pod="ranks', "rank.", ""):
        assert await scene.look(odd, since=0.0) == {odd: None}
    assert await scene.look("ranks", since=0.0, namespace='team-b",pod=~".*') == {"ranks": None}


async def test_labels_of_the_pages_own_are_read_by_name(scene: Scene) -> None:
    """Prometheus keeps the target's `pod` and calls the page's `exported_pod`."""
    labels = {"pod_label": "exported_pod", "namespace_label": "exported_namespace"}
    read = await scene.until_read("inner", since=time.time(), namespace="own", **labels)
    assert read["inner"].generation_tokens == 7
    assert await scene.look("inner", since=0.0) == {"inner": None}


async def stand_still(pid: int) -> None:
    """Stops a process, and waits until each of its threads has stopped."""
    os.kill(pid, signal.SIGSTOP)
    threads = list(pathlib.Path(f"/proc/{pid}/task").glob("*/stat"))
    while any(process.stat_fields(thread.read_text())[2] != "T" for thread in threads):
        await asyncio.sleep(0.01)


async def test_a_server_that_hangs_gives_no_reading(scene: Scene) -> None:
    """It takes connections and never answers; when it goes on, so does the evidence."""
    await scene.until_read("steady", since=0.0)
    try:
        await stand_still(scene.server.identity.pid)
        begun = time.monotonic()
        assert await scene.look("steady", "ranks", since=0.0) == {"steady": None, "ranks": None}
        assert time.monotonic() - begun < 4
    finally:
        os.kill(scene.server.identity.pid, signal.SIGCONT)
    await scene.until_read("steady", "ranks", since=time.time())
