"""What the node tests observe of a service, and the demo's client, against a small API server on loopback."""

import asyncio
import json
import pathlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from kubernetes.aio import client
from kubernetes.aio.client.exceptions import ApiException
from kubernetes.aio.dynamic import DynamicClient
from lab.demo import KServeRun
from tests.node import demo, film
from tests.node.film import Film, follow
from tests.node.service import Service
from tests.wire.api import ISVC, POD, SIS, Api

SPECULATING = '--speculative-config={"method":"draft_model"}'


def _sis(phase: str | None) -> dict[str, Any]:
    return {"metadata": {"name": "tiny"}} | ({"status": {"phase": phase}} if phase else {})


def _child(revision: str, *args: str) -> dict[str, Any]:
    labels = {"serving.specdec.io/revision": revision}
    return {"metadata": {"name": "tiny"}, "spec": {"predictor": {"labels": labels, "model": {"args": list(args)}}}}


def _pod(name: str, revision: str, *, ready: bool, leaving: bool = False) -> dict[str, Any]:
    metadata = {"name": name, "labels": {"serving.specdec.io/revision": revision}}
    if leaving:
        metadata |= {"deletionTimestamp": "2026-01-01T00:00:00Z"}
    return {"metadata": metadata, "status": {"conditions": [{"type": "Ready", "status": "True" if ready else "False"}]}}


def _seen(*taken: tuple[tuple[str, str], dict[str, Any], float]) -> Film:
    found = Film(pathlib.Path("none"), "demo", "tiny")
    for kind, thing, at in taken:
        found.take(kind, "MODIFIED", thing, at)
    return found


async def test_the_moments_of_a_rollback_are_those_after_the_onset() -> None:
    """The baseline revision served before, too: only the pod that became ready after the onset counts."""
    seen = _seen(
        (ISVC, _child("plain", "--model=m"), 1),
        (POD, _pod("p1", "plain", ready=True), 2),
        (SIS, _sis("Serving"), 2),
        (ISVC, _child("spec", "--model=m", SPECULATING), 3),
        (POD, _pod("p2", "spec", ready=True), 4),
        (SIS, _sis("Watching"), 5),
        (SIS, _sis("Responding"), 21.5),
        (ISVC, _child("plain", "--model=m"), 21.6),
        (POD, _pod("p3", "plain", ready=False), 22),
        (POD, _pod("p3", "plain", ready=True), 40),
        (POD, _pod("p3", "plain", ready=True), 41),
    )
    assert [await seen.phase("Responding", 10, 1), await seen.baseline(10, 1), await seen.serving(10, 1)] == [
        21.5,
        21.6,
        40,
    ]
    with pytest.raises(AssertionError, match="phase Responding"):
        await seen.phase("Responding", 30, 0)


def test_a_pod_that_leaves_no_longer_serves_though_its_condition_is_ready() -> None:
    """Kubernetes sets the deletion time first and the condition later."""
    seen = _seen((POD, _pod("p", "r", ready=True), 1))
    assert seen.ready == {"p"}
    seen.take(POD, "MODIFIED", _pod("p", "r", ready=True, leaving=True), 2)
    assert seen.ready == set()


def test_a_phase_counts_when_it_is_entered() -> None:
    """Status writes in between change numbers only, and a service without a status has no phase."""
    phases = (None, "Watching", "Watching", "Responding", "Responding", "Watching")
    seen = _seen(*((SIS, _sis(phase), at) for at, phase in enumerate(phases)))
    assert seen.phases == [(1, "Watching"), (3, "Responding"), (5, "Watching")]


@asynccontextmanager
async def served(answer: Callable[[web.Request], Awaitable[web.Response]]) -> AsyncIterator[client.ApiClient]:
    """A client of a server that answers every request by one function."""
    application = web.Application()
    application.router.add_route("*", "/{path:.*}", answer)
    async with TestServer(application) as server:
        settings = client.Configuration(host=str(server.make_url("/")).rstrip("/"))
        async with client.ApiClient(settings) as connection, asyncio.timeout(10):
            yield connection


async def test_a_watch_lists_first_and_lists_again_after_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """An expired resource version ends the stream with an ERROR: what happened meanwhile is in the next list."""
    monkeypatch.setattr(film, "_PAUSE", 0.01)
    asked: list[str] = []

    async def answer(request: web.Request) -> web.Response:
        assert request.query["labelSelector"] == "a"
        asked.append(request.query.get("resourceVersion", "LISTED"))
        lists = asked.count("LISTED")
        if "watch" not in request.query:
            return web.json_response({"metadata": {"resourceVersion": str(lists)}, "items": [{"number": lists}]})
        gone = {"code": 410, "reason": "Expired", "message": "too old resource version"}
        messages = [{"type": "MODIFIED", "object": {"wide": "x" * 100_000}}, {"type": "ERROR", "object": gone}]
        return web.Response(text="".join(json.dumps(each) + "\n" for each in messages[asked.count(str(lists)) - 1 :]))

    seen: list[str] = []
    async with served(answer) as connection:
        async for verb, _ in follow(DynamicClient(connection), "/things", label_selector="a"):
            seen.append(verb)
            if len(seen) == 3:
                break
    assert seen == ["LISTED", "MODIFIED", "LISTED"]
    assert asked == ["LISTED", "1", "1", "LISTED"]


async def test_a_busy_api_server_is_asked_again_and_one_that_refuses_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """A CRD of a moment ago is answered with 429 while its storage comes up; 404 is a missing CRD."""
    monkeypatch.setattr(film, "_PAUSE", 0.01)
    answers = [429, 429, 404]

    async def answer(_: web.Request) -> web.Response:
        return web.Response(status=answers.pop(0), headers={"Retry-After": "0"}, text="storage is (re)initializing")

    async with served(answer) as connection:
        with pytest.raises(ApiException, match="404"):
            await anext(follow(DynamicClient(connection), "/apis/x"))
    assert answers == []


async def test_a_failed_request_is_counted_and_its_prompt_sent_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    """Nothing is skipped, nothing is hidden, and the engine's own count of tokens is used; the last one is finished."""
    monkeypatch.setattr(demo, "PAUSE", 0.01)
    (tmp_path / "prompts.json").write_text(json.dumps({"code": ["one", "two", "three"]}))
    asked: list[str] = []
    run = KServeRun(guard={}, strategy="Surge", kserve="")

    async def answer(request: web.Request) -> web.Response:
        asked.append((await request.json())["prompt"])
        if len(asked) == 2:
            return web.Response(status=503, text="no endpoints\navailable")
        return web.json_response({"usage": {"completion_tokens": 7}})

    async with served(answer) as connection, demo.traffic(Service(Api(connection), "demo", tmp_path), "code", run):
        while len(run.answers) < 3:
            await asyncio.sleep(0.01)
    assert asked[:4] == ["one", "two", "two", "three"]
    assert {each.tokens for each in run.answers} == {7}
    assert len(run.answers) == len(asked) - 1
    assert [why for _, why in run.failures] == ["Refused: no endpoints available"]
