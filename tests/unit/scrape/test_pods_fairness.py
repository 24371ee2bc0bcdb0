"""Pods that hang do not delay the reading of others, and are read less often: sockets that accept and never answer."""

import asyncio
import itertools
from collections.abc import AsyncIterator

import pytest
from tests.hostile_http import HostileServer, answering, silent

from specdec_operator.guard.counters import Counters, Unread
from specdec_operator.scrape.pods import PodMetrics, Silence, grown, waits, without_gone

PAGE = b'vllm:generation_tokens_total{engine="0"} 22\n'
HANGING = 300
TIMEOUT = 1.0
INTERVAL = 1.0
LIMIT = 32


@pytest.fixture
async def engines() -> AsyncIterator[HostileServer]:
    """One server that stands for many pods: /well answers, every other path accepts and never does."""
    hanging = {f"/{number}": silent for number in range(HANGING)}
    async with HostileServer({"/well": answering(PAGE), **hanging}) as server:
        yield server


@pytest.fixture
async def scraper() -> AsyncIterator[PodMetrics]:
    made = PodMetrics(timeout=TIMEOUT, limit=LIMIT)
    yield made
    await made.close()


async def _took(scraper: PodMetrics, url: str) -> float:
    begun = asyncio.get_running_loop().time()
    assert isinstance((await scraper.read("good", {"pod": url}))["pod"], Counters)
    return asyncio.get_running_loop().time() - begun


async def test_300_hanging_pods_of_one_tenant_delay_no_other(scraper: PodMetrics, engines: HostileServer) -> None:
    """They hold half of the places; in the other half a good pod is read at once, at each of its intervals."""
    hanging = {f"pod-{number}": f"{engines.url}/{number}" for number in range(HANGING)}
    hog = asyncio.create_task(scraper.read("hog", hanging))
    await asyncio.sleep(0.3)
    took = []
    for _ in range(6):
        took.append(await _took(scraper, f"{engines.url}/well"))
        await asyncio.sleep(INTERVAL)
    assert not hog.done(), "they still wait: 16 places, 1 s each"
    assert max(took) < INTERVAL, took
    hog.cancel()
    await asyncio.gather(hog, return_exceptions=True)
    assert await _took(scraper, f"{engines.url}/well") < INTERVAL, "places of a reading that was given up are free"


async def test_a_namespace_that_waits_gets_the_next_place_though_many_others_hang(engines: HostileServer) -> None:
    """With two tenants that hang all places are held: the third one is the next whose turn it is."""
    scraper = PodMetrics(timeout=TIMEOUT, limit=4)
    hogs = [
        asyncio.create_task(scraper.read(name, {str(each): f"{engines.url}/{each}" for each in pods}))
        for name, pods in (("hog-1", range(50)), ("hog-2", range(50, 100)))
    ]
    await asyncio.sleep(0.1)
    took = await _took(scraper, f"{engines.url}/well")
    for hog in hogs:
        hog.cancel()
    await asyncio.gather(*hogs, return_exceptions=True)
    await scraper.close()
    assert took < 1.5 * TIMEOUT


async def test_a_pod_that_does_not_answer_is_read_less_often_and_reported_each_time(engines: HostileServer) -> None:
    """An unread value stays missing, with the time of the next try; a pod that answers is always read."""
    scraper = PodMetrics(timeout=0.1, limit=LIMIT)
    words = []
    for _ in range(30):
        found = await scraper.read("team", {"bad": f"{engines.url}/0", "good": f"{engines.url}/well"})
        assert isinstance(found["good"], Counters)
        assert isinstance(found["bad"], Unread)
        words.append(found["bad"].words)
        await asyncio.sleep(0.05)
    await scraper.close()
    asked = [each for each in words if "the operator reads it again in" not in each]
    assert 3 <= len(asked) <= 6, words
    assert "no answer within 0.1 s; a NetworkPolicy" in "".join(words)
    assert "; 3 times in a row; the operator reads it again in" in "".join(words)


def test_each_gap_is_twice_as_long_up_to_a_minute() -> None:
    """At the operator's 5 s; a pod whose network is mended is read again within that minute."""
    silence, gaps = None, []
    for _ in range(8):
        silence = grown(silence, 5.0, 100.0)
        gaps.append(silence.until - 100.0)
    assert gaps == [5, 10, 20, 40, 60, 60, 60, 60]
    assert all(earlier <= later for earlier, later in itertools.pairwise(gaps))


def test_a_silence_ends_and_a_pod_that_is_gone_is_forgotten() -> None:
    """By its time alone; a new address is asked at once."""
    silences = {"http://a": Silence(times=4, until=140.0)}
    assert waits(silences, "http://a", 139.0) is silences["http://a"]
    assert waits(silences, "http://a", 140.0) is waits(silences, "http://b", 0.0) is None
    assert without_gone(silences, 5.0, 739.0) == silences
    assert without_gone(silences, 5.0, 741.0) == {}
