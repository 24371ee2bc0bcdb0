"""Asking a Prometheus server over real HTTP on loopback: whatever it does, it is counters or nothing, and soon."""

import asyncio
import gzip
import json
import logging
from collections.abc import AsyncIterator

import pytest
from aiohttp import web

from specdec_operator.api.guard import Prometheus
from specdec_operator.prometheus import PrometheusReader
from specdec_operator.settings import Settings, read_settings

NOW = 1000.0
WORDS = "words that only the server knows"
SERIES = {
    "metric": {"__name__": "vllm:generation_tokens_total", "namespace": "ns", "pod": "a", "engine": "0"},
    "values": [[NOW - 1, "22"]],
}
WELL = json.dumps({"status": "success", "data": {"resultType": "matrix", "result": [SERIES]}})


async def well(request: web.Request) -> web.Response:
    """What a server says of pod a."""
    asked = await request.post()
    assert request.headers["Accept-Encoding"] == "identity"
    assert "Authorization" not in request.headers
    assert "Cookie" not in request.headers
    return web.Response(text=WELL if str(asked["query"]).endswith('pod=~"a"}[20000ms]') else "{}")


async def cookies(request: web.Request) -> web.Response:
    """Tries to know the operator again."""
    response = await well(request)
    response.set_cookie("seen", "yes")
    return response


async def hang(_: web.Request) -> web.Response:
    """Never answers."""
    await asyncio.sleep(60)
    return web.Response()


async def trickle(request: web.Request) -> web.StreamResponse:
    """Sends a byte now and then."""
    response = web.StreamResponse()
    await response.prepare(request)
    while True:
        await response.write(b" ")
        await asyncio.sleep(0.05)


async def flood(request: web.Request) -> web.StreamResponse:
    """Never stops sending."""
    response = web.StreamResponse()
    await response.prepare(request)
    while True:
        await response.write(b" " * 65536)


async def packed(_: web.Request) -> web.Response:
    """A small answer that unpacks to a large one, though none was asked for."""
    return web.Response(body=gzip.compress(b" " * 50_000_000), headers={"Content-Encoding": "gzip"})


async def redirect(_: web.Request) -> web.Response:
    """Points elsewhere, where the operator has no business."""
    raise web.HTTPTemporaryRedirect("/well/api/v1/query")


async def refuses(_: web.Request) -> web.Response:
    """A query that it does not like."""
    return web.Response(status=400, text=WORDS)


async def page(_: web.Request) -> web.Response:
    """No Prometheus at all."""
    return web.Response(text=f"<html>{WORDS}</html>")


async def busy(_: web.Request) -> web.Response:
    """Not now."""
    return web.Response(status=503, text=WELL)


TROUBLE = (hang, trickle, flood, packed, redirect, refuses, page, busy)


@pytest.fixture
async def address() -> AsyncIterator[str]:
    """A server that is several servers, one below each path; it has no other paths."""
    app = web.Application()
    for each in (well, cookies, *TROUBLE):
        app.router.add_post(f"/{each.__name__}/api/v1/query", each)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    await runner.cleanup()


@pytest.fixture
async def reader() -> AsyncIterator[PrometheusReader]:
    """With a clock that stands still."""
    made = PrometheusReader(clock=lambda: NOW, timeout=1.0, limit=32)
    yield made
    await made.close()


async def tokens(reader: PrometheusReader, url: str) -> float | None:
    """What is read for pod a."""
    readings = await reader.read(Prometheus(url=url), "ns", ["a"], since=NOW - 10)
    assert set(readings) == {"a"}
    return None if (found := readings["a"]) is None else found.generation_tokens


@pytest.mark.parametrize("end", ["", "/"])
async def test_pods_are_read_below_the_servers_own_path(reader: PrometheusReader, address: str, end: str) -> None:
    """One request, in which nothing tells who asks; a slash at the end of the address is no matter."""
    assert await tokens(reader, f"{address}/well{end}") == 22


async def test_nothing_that_a_server_sets_is_sent_again(reader: PrometheusReader, address: str) -> None:
    """The operator asks for many tenants over one session, which remembers none of them."""
    assert [await tokens(reader, f"{address}/cookies") for _ in range(2)] == [22, 22]


async def test_trouble_is_no_reading_and_no_news(
    reader: PrometheusReader, address: str, caplog: pytest.LogCaptureFixture
) -> None:
    """All at once, within one time limit; of an answer that is not understood nothing is logged above DEBUG."""
    caplog.set_level(logging.DEBUG, logger="specdec_operator")
    begun = asyncio.get_running_loop().time()
    urls = [f"{address}/{each.__name__}" for each in TROUBLE] + [f"{address}/nowhere", "http://127.0.0.1:9"]
    found = await asyncio.gather(*(tokens(reader, url) for url in urls))
    assert dict(zip(urls, found, strict=True)) == dict.fromkeys(urls)
    assert asyncio.get_running_loop().time() - begun < 5
    ours = [record for record in caplog.records if record.name.startswith("specdec_operator")]
    assert len(ours) == len(urls)
    assert {record.levelno for record in ours} == {logging.DEBUG}


@pytest.mark.parametrize("url", ["http://127.0.0.1:99999", "http://[::1", "http://..", "http://host:port"])
async def test_an_address_that_is_none_is_no_reading(reader: PrometheusReader, url: str) -> None:
    """The schema lets some through; they are the user's mistake and nobody's crash."""
    assert await tokens(reader, url) is None


async def test_only_so_many_requests_are_under_way_at_once(address: str) -> None:
    """Two places, four sis whose server hangs for the timeout: two rounds."""
    reader = PrometheusReader(clock=lambda: NOW, timeout=0.2, limit=2)
    begun = asyncio.get_running_loop().time()
    await asyncio.gather(*(tokens(reader, f"{address}/hang") for _ in range(4)))
    took = asyncio.get_running_loop().time() - begun
    await reader.close()
    assert took >= 0.4


async def test_without_pods_nobody_is_asked() -> None:
    """And nothing is left to close."""
    reader = PrometheusReader(clock=lambda: NOW, timeout=1.0, limit=1)
    assert await reader.read(Prometheus(url="http://127.0.0.1:9"), "ns", [], since=0.0) == {}
    await reader.close()


def test_the_servers_that_may_be_asked_are_a_setting() -> None:
    """Separated by commas; none means any."""
    assert Settings().prometheus_urls == ()
    read = read_settings({"SPECDEC_PROMETHEUS_URLS": "http://one:9090, https://two/prometheus,"})
    assert read.prometheus_urls == ("http://one:9090", "https://two/prometheus")
