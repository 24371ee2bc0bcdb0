"""Asking a Prometheus server over real HTTP on loopback: whatever it does, it is counters or nothing, and soon."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from urllib.parse import parse_qs

import pytest
from tests.hostile_http import (
    Answer,
    Asked,
    HostileServer,
    answering,
    flood,
    packed,
    redirect,
    replying,
    silent,
    trickle,
)

from specdec_operator.api.guard import Prometheus
from specdec_operator.scrape.prometheus import PrometheusReader
from specdec_operator.settings import Settings, read_settings

NOW = 1000.0
WORDS = "words that only the server knows"
SERIES = {
    "metric": {"__name__": "vllm:generation_tokens_total", "namespace": "ns", "pod": "a", "engine": "0"},
    "values": [[NOW - 1, "22"]],
}
WELL = json.dumps({"status": "success", "data": {"resultType": "matrix", "result": [SERIES]}})
QUERY = "/api/v1/query"


def well(asked: Asked) -> tuple[int, str]:
    (query,) = parse_qs(asked.body.decode())["query"]
    assert asked.method == "POST"
    assert asked.headers["accept-encoding"] == "identity"
    assert not {"authorization", "cookie"} & asked.headers.keys()
    return 200, WELL if query.endswith('pod=~"a"}[20000ms]') else "{}"


TROUBLE: dict[str, Answer] = {
    "hang": silent,
    "trickle": trickle,
    "flood": flood,
    "packed": packed,
    "redirect": redirect(f"/well{QUERY}".encode(), b"307 Temporary Redirect"),
    "refuses": answering(WORDS.encode(), status=b"400 Bad Request"),
    "page": answering(f"<html>{WORDS}</html>".encode()),
    "busy": answering(WELL.encode(), status=b"503 Service Unavailable"),
}


@pytest.fixture
async def address() -> AsyncIterator[str]:
    """A server that is several servers, one below each path; it has no other paths."""
    cookies = replying(well, b"Set-Cookie: seen=yes")
    servers = {"well": replying(well), "cookies": cookies, **TROUBLE}
    async with HostileServer({f"/{name}{QUERY}": answer for name, answer in servers.items()}) as server:
        yield server.url


@pytest.fixture
async def reader() -> AsyncIterator[PrometheusReader]:
    made = PrometheusReader(clock=lambda: NOW, timeout=2.0, limit=32)
    yield made
    await made.close()


async def tokens(reader: PrometheusReader, url: str) -> float | None:
    readings = await reader.read(Prometheus(url=url), "ns", ["a"], since=NOW - 10)
    assert set(readings) == {"a"}
    return None if (found := readings["a"]) is None else found.generation_tokens


@pytest.mark.parametrize("end", ["", "/"])
async def test_pods_are_read_below_the_servers_own_path(reader: PrometheusReader, address: str, end: str) -> None:
    """One request, without anything that identifies the operator; a slash at the end of the address changes nothing."""
    assert await tokens(reader, f"{address}/well{end}") == 22


async def test_nothing_that_a_server_sets_is_sent_again(reader: PrometheusReader, address: str) -> None:
    """The operator asks for many tenants over one session, which remembers none of them."""
    assert [await tokens(reader, f"{address}/cookies") for _ in range(2)] == [22, 22]


async def test_trouble_gives_no_reading_and_no_log_lines(
    reader: PrometheusReader, address: str, caplog: pytest.LogCaptureFixture
) -> None:
    """All at once, within one time limit; of an answer that is not understood nothing is logged above DEBUG."""
    caplog.set_level(logging.DEBUG, logger="specdec_operator")
    begun = asyncio.get_running_loop().time()
    urls = [f"{address}/{each}" for each in TROUBLE] + [f"{address}/nowhere", "http://127.0.0.1:9"]
    found = await asyncio.gather(*(tokens(reader, url) for url in urls))
    assert dict(zip(urls, found, strict=True)) == dict.fromkeys(urls)
    assert asyncio.get_running_loop().time() - begun < 3 * 2.0
    ours = [record for record in caplog.records if record.name.startswith("specdec_operator")]
    assert len(ours) == len(urls)
    assert {record.levelno for record in ours} == {logging.DEBUG}


@pytest.mark.parametrize("url", ["http://127.0.0.1:99999", "http://[::1", "http://..", "http://host:port"])
async def test_an_invalid_address_gives_no_reading(reader: PrometheusReader, url: str) -> None:
    """The schema accepts some of them; they are the user's mistake, and must not crash the operator."""
    assert await tokens(reader, url) is None


async def test_only_so_many_requests_are_under_way_at_once(address: str) -> None:
    """Two places, four sis whose server hangs for the timeout: two rounds."""
    reader = PrometheusReader(clock=lambda: NOW, timeout=0.2, limit=2)
    begun = asyncio.get_running_loop().time()
    await asyncio.gather(*(tokens(reader, f"{address}/hang") for _ in range(4)))
    took = asyncio.get_running_loop().time() - begun
    await reader.close()
    assert took >= 0.4


async def test_without_pods_no_server_is_asked() -> None:
    reader = PrometheusReader(clock=lambda: NOW, timeout=1.0, limit=1)
    assert await reader.read(Prometheus(url="http://127.0.0.1:9"), "ns", [], since=0.0) == {}
    await reader.close()


def test_the_servers_that_may_be_asked_are_a_setting() -> None:
    """Separated by commas; none by default."""
    assert Settings().prometheus_urls == ()
    read = read_settings({"SPECDEC_PROMETHEUS_URLS": "http://one:9090, https://two/prometheus,"})
    assert read.prometheus_urls == ("http://one:9090", "https://two/prometheus")
