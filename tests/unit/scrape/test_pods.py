"""Reading pods' metrics over real HTTP on loopback: whatever a pod does, it is counters or nothing, and soon."""

import asyncio
import threading
from collections.abc import AsyncIterator

import pytest
from tests.hostile_http import Answer, HostileServer, answering, flood, redirect, silent, trickle

from specdec_operator.guard.counters import Counters, Unread, read_counters
from specdec_operator.scrape import pods
from specdec_operator.scrape.pods import PodMetrics

PAGE = b'vllm:generation_tokens_total{engine="0"} 22\n'
PAGES: dict[str, Answer] = {
    "well": answering(PAGE),
    "long": answering(b"x 1\n" * 20_000 + PAGE),
    "hang": silent,
    "trickle": trickle,
    "flood": flood,
    "redirect": redirect(b"/well"),
    "broken": answering(b"vllm:generation_tokens_total \xff\xfe"),
    "busy": answering(PAGE, status=b"503 Service Unavailable"),
}


@pytest.fixture
async def address() -> AsyncIterator[str]:
    async with HostileServer({f"/{name}": answer for name, answer in PAGES.items()}) as server:
        yield server.url


async def test_each_pod_gets_its_counters_or_nothing(address: str) -> None:
    """All at once, within the limit of one scrape; one pod's trouble is not another's."""
    scraper = PodMetrics(timeout=2.0, limit=32)
    begun = asyncio.get_running_loop().time()
    urls = {page: f"{address}/{page}" for page in PAGES} | {"gone": "http://127.0.0.1:9/metrics"}
    readings = await scraper.read("ns", urls)
    took = asyncio.get_running_loop().time() - begun
    await scraper.close()
    assert {pod for pod, reading in readings.items() if isinstance(reading, Counters)} == {"well", "long"}
    assert isinstance(readings["well"], Counters)
    assert readings["well"].generation_tokens == 22
    assert took < 3 * 2.0, "three of them take the whole of it"


@pytest.mark.parametrize(
    ("page", "words"),
    [
        ("hang", "no answer within 0.3 s; a NetworkPolicy may block the operator"),
        ("trickle", "no answer within 0.3 s"),
        ("busy", "this is not a metrics page of an engine"),
        ("redirect", "this is not a metrics page of an engine"),
        ("broken", "this is not a metrics page of an engine"),
    ],
)
async def test_what_could_not_be_read_is_reported_with_its_address_and_possible_causes(
    address: str, page: str, words: str
) -> None:
    """The words end in the condition GuardPassing."""
    scraper = PodMetrics(timeout=0.3 if page in ("hang", "trickle") else 10.0, limit=32)
    found = (await scraper.read("ns", {"pod-1": f"{address}/{page}"}))["pod-1"]
    await scraper.close()
    assert isinstance(found, Unread)
    assert found.words.startswith(f"pod pod-1, {address}/{page}: ")
    assert words in found.words


async def test_a_long_page_is_parsed_beside_the_event_loop(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page of two megabytes takes 0.2 s, and one tenant may have a hundred pods with such pages."""
    threads: list[str] = []

    def noted(page: str) -> Counters:
        threads.append(threading.current_thread().name)
        return read_counters(page)

    monkeypatch.setattr(pods, "read_counters", noted)
    scraper = PodMetrics(timeout=10.0, limit=32)
    for name in ("well", "long"):
        assert isinstance((await scraper.read("ns", {name: f"{address}/{name}"}))[name], Counters)
    await scraper.close()
    assert threads[0] == threading.main_thread().name
    assert threads[1].startswith("off-loop")


async def test_a_pod_without_a_listener_is_reported() -> None:
    """Refused at once: no engine, or a policy that rejects instead of dropping."""
    scraper = PodMetrics(timeout=10.0, limit=32)
    found = (await scraper.read("ns", {"pod-1": "http://127.0.0.1:9/metrics"}))["pod-1"]
    await scraper.close()
    assert isinstance(found, Unread)
    assert "the engine does not listen there, or a NetworkPolicy" in found.words


async def test_only_so_many_scrapes_are_under_way_at_once(address: str) -> None:
    """Two places, four pods that hang for the timeout: two rounds."""
    scraper = PodMetrics(timeout=0.2, limit=2)
    begun = asyncio.get_running_loop().time()
    await scraper.read("ns", {str(pod): f"{address}/hang" for pod in range(4)})
    took = asyncio.get_running_loop().time() - begun
    await scraper.close()
    assert took >= 0.4


async def test_nothing_is_opened_before_the_first_scrape() -> None:
    scraper = PodMetrics(timeout=1.0, limit=1)
    assert await scraper.read("ns", {}) == {}
    await scraper.close()
