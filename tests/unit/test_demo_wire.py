"""The demo's clients and watches against a small HTTP server on loopback that plays an API server, stand-in for one."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import aiohttp
import pytest
from aiohttp import web
from hack.cluster.errors import ClusterError
from hack.demo import prepare, samples, traffic
from hack.demo.connection import Connection
from hack.demo.traffic import Topic, Traffic

Handler = Callable[[web.Request], "web.StreamResponse | asyncio.Future[web.StreamResponse]"]
Serve = Callable[..., AbstractAsyncContextManager[Connection]]


@pytest.fixture
def serve() -> Serve:
    """A server that answers every request by one function."""

    @asynccontextmanager
    async def started(answer: Handler) -> AsyncIterator[Connection]:
        application = web.Application()
        application.router.add_route("*", "/{path:.*}", answer)
        runner = web.AppRunner(application, shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        port = runner.addresses[0][1]
        try:
            async with aiohttp.ClientSession(f"http://127.0.0.1:{port}") as session:
                yield Connection(session)
        finally:
            await runner.cleanup()

    return started


async def test_a_failed_request_is_counted_and_its_prompt_asked_again(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is skipped, nothing is hidden, and tokens are what the engine says."""
    monkeypatch.setattr(traffic, "_PAUSE", 0.01)
    asked: list[str] = []

    async def answer(request: web.Request) -> web.Response:
        body = await request.json()
        asked.append(body["prompt"])
        assert request.path.endswith("/namespaces/demo/services/http:tiny-predictor:80/proxy/v1/completions")
        assert (body["model"], body["temperature"]) == ("tiny", 0)
        if len(asked) == 2:
            return web.Response(status=503, text="no endpoints\navailable")
        return web.json_response({"usage": {"completion_tokens": 7}})

    async with serve(answer) as connection:
        prompts = {Topic.CODE: ["one", "two", "three"], Topic.DRIFT: []}
        clients = Traffic(connection, samples.read(samples.PLAIN), prompts, clients=1)
        clients.start(Topic.CODE)
        async with asyncio.timeout(10):
            while len(clients.completions) < 3:
                await asyncio.sleep(0.01)
        await clients.stop()
    assert asked[:4] == ["one", "two", "two", "three"]
    assert {each.tokens for each in clients.completions} == {7}
    assert [each.why for each in clients.failures] == ["HTTP 503: no endpoints available"]
    assert clients.clients == 0


async def test_a_server_that_is_gone_is_a_failure_and_no_crash(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    """During a rollout connections break; the client goes on."""
    monkeypatch.setattr(traffic, "_PAUSE", 0.01)

    async def answer(request: web.Request) -> web.Response:
        assert request.transport is not None
        request.transport.close()
        return web.Response()

    async with serve(answer) as connection:
        prompts = {Topic.CODE: ["one"], Topic.DRIFT: ["two"]}
        clients = Traffic(connection, samples.read(samples.PLAIN), prompts, clients=2)
        clients.start(Topic.DRIFT)
        async with asyncio.timeout(10):
            while len(clients.failures) < 4:
                await asyncio.sleep(0.01)
        await clients.stop()
    assert not clients.completions


async def test_a_watch_lists_first_and_lists_again_after_an_error(serve: Serve) -> None:
    """An expired resource version ends the stream with an ERROR: what happened meanwhile is in the next list."""
    lists = 0

    async def answer(request: web.Request) -> web.StreamResponse:
        nonlocal lists
        if "watch" not in request.query:
            lists += 1
            return web.json_response({"metadata": {"resourceVersion": str(lists)}, "items": [{"number": lists}]})
        assert request.query["resourceVersion"] == str(lists)
        messages = [{"type": "MODIFIED", "object": {"wide": "x" * 100_000}}, {"type": "ERROR", "object": {"code": 410}}]
        return web.Response(text="".join(json.dumps(each) + "\n" for each in messages))

    seen: list[str] = []
    async with serve(answer) as connection, asyncio.timeout(10):
        async for change in connection.watch("/things", "labelSelector=a"):
            seen.append(change.verb)
            if len(seen) == 3:
                break
    assert seen == ["LISTED", "MODIFIED", "LISTED"]


async def test_an_answer_that_is_none_is_told_with_the_servers_words(serve: Serve) -> None:
    """A missing CRD, say."""

    async def answer(_: web.Request) -> web.Response:
        return web.Response(status=404, text="the server could not find the requested resource")

    async with serve(answer) as connection:
        with pytest.raises(ClusterError, match=r"/things.*404.*could not find"):
            await connection.get("/things")
        await connection.delete("/things/one")


async def test_a_program_that_fails_is_told_in_its_own_words() -> None:
    """Its last `error:` and what follows, without the noise before."""
    said: list[str] = []
    program = "import sys; print('building'); print('error: no Go here: install it'); sys.exit(3)"
    with pytest.raises(ClusterError, match=r"failed: no Go here: install it$"):
        await prepare.run([sys.executable, "-c", program], said.append)
    assert said == ["building", "error: no Go here: install it"]


def test_without_an_error_line_the_last_lines_are_the_words() -> None:
    """A program that crashed says something, and it is passed on."""
    assert prepare.failure_words([str(number) for number in range(9)]) == "4\n5\n6\n7\n8"
    assert prepare.failure_words([]) == "it said nothing"
    assert prepare.failure_words(["error: old", "more", "error: new", "its second line"]) == "new\nits second line"


async def test_a_server_that_asks_for_patience_gets_it(serve: Serve) -> None:
    """A CRD of a moment ago is answered with 429 and Retry-After while its storage comes up."""
    asked: list[str] = []

    async def answer(request: web.Request) -> web.Response:
        asked.append(request.path)
        if len(asked) < 3:
            return web.Response(status=429, headers={"Retry-After": "0"}, text="storage is (re)initializing")
        return web.json_response({"items": []})

    async with serve(answer) as connection:
        assert await connection.get("/apis/x") == {"items": []}
    assert len(asked) == 3
