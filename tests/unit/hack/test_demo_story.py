"""What the demo observes of a rollback, and its client and watches against a small API server on loopback."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from hack.cluster.errors import ClusterError
from hack.demo import observed, traffic
from hack.demo.observed import LISTED, Kind, Moments, Observed, follow
from hack.demo.traffic import Topic, Traffic
from kubernetes.aio import client
from kubernetes.aio.dynamic import DynamicClient

Answer = Callable[[web.Request], Awaitable[web.Response]]
PATH = "/api/v1/namespaces/demo/services/http:tiny-predictor:80/proxy/v1/completions"
SPECULATING = '--speculative-config={"method":"draft_model"}'


def _sis(phase: str | None, **status: Any) -> dict[str, Any]:
    told = {"phase": phase, **status} if phase else {}
    return {"metadata": {"name": "tiny"}} | ({"status": told} if told else {})


def _child(revision: str, *args: str) -> dict[str, Any]:
    labels = {"serving.specdec.io/revision": revision}
    return {"metadata": {"name": "tiny"}, "spec": {"predictor": {"labels": labels, "model": {"args": list(args)}}}}


def _pod(name: str, revision: str, *, ready: bool, leaving: bool = False) -> dict[str, Any]:
    metadata = {"name": name, "labels": {"serving.specdec.io/revision": revision}}
    if leaving:
        metadata |= {"deletionTimestamp": "2026-01-01T00:00:00Z"}
    return {"metadata": metadata, "status": {"conditions": [{"type": "Ready", "status": "True" if ready else "False"}]}}


def _rollback() -> Observed:
    """A baseline, the same with speculation, and a rollback to the very same baseline revision."""
    seen = Observed()
    seen.take(Kind.CHILD, "MODIFIED", [_child("plain", "--model=m")], 1)
    seen.take(Kind.POD, "MODIFIED", [_pod("p1", "plain", ready=True)], 2)
    seen.take(Kind.SERVICE, "MODIFIED", [_sis("Serving")], 2)
    seen.take(Kind.CHILD, "MODIFIED", [_child("spec", "--model=m", SPECULATING)], 3)
    seen.take(Kind.POD, "MODIFIED", [_pod("p2", "spec", ready=True)], 4)
    seen.take(Kind.POD, "DELETED", [_pod("p1", "plain", ready=False)], 4)
    seen.take(Kind.SERVICE, "MODIFIED", [_sis("Watching")], 5)
    seen.take(Kind.SERVICE, "MODIFIED", [_sis("Responding")], 21.5)
    seen.take(Kind.CHILD, "MODIFIED", [_child("plain", "--model=m")], 21.6)
    seen.take(Kind.POD, "MODIFIED", [_pod("p3", "plain", ready=False)], 22)
    return seen


def test_a_rollback_is_found_in_what_happened_after_the_onset() -> None:
    """The plain revision served before, too: only the pod that came up after the onset counts."""
    seen = _rollback()
    seen.take(Kind.POD, "MODIFIED", [_pod("p3", "plain", ready=True)], 40)
    seen.take(Kind.POD, "MODIFIED", [_pod("p3", "plain", ready=True)], 41)
    seen.take(Kind.SERVICE, "MODIFIED", [_sis("RolledBack")], 42)
    assert seen.rollback(10) == Moments(onset=10, decided=21.5, patched=21.6, serving=40, rolled_back=42)


def test_there_are_no_moments_before_the_rollback_is_over() -> None:
    """A decision alone is known at once; the rest waits for the pod and the operator."""
    seen = _rollback()
    assert seen.decided(10) == 21.5
    assert seen.rollback(10) is None
    seen.take(Kind.SERVICE, "MODIFIED", [_sis("RolledBack")], 42)
    assert seen.rollback(10) is None


def test_a_decision_before_the_onset_is_not_one_about_it() -> None:
    """Phases that were entered earlier do not count."""
    assert _rollback().decided(30) is None


def test_a_pod_that_leaves_no_longer_serves_though_its_condition_is_ready() -> None:
    """Kubernetes sets the deletion time first and the condition later."""
    seen = Observed()
    seen.take(Kind.POD, "MODIFIED", [_pod("p", "r", ready=True)], 1)
    assert seen.ready_pods() == ["p"]
    seen.take(Kind.POD, "MODIFIED", [_pod("p", "r", ready=True, leaving=True)], 2)
    assert seen.ready_pods() == []
    assert not seen.empty()


def test_a_list_after_a_lost_watch_removes_what_has_gone() -> None:
    """Deletions that no watch reported are found by their absence."""
    seen = Observed()
    seen.take(Kind.SERVICE, "MODIFIED", [_sis("Serving")], 1)
    seen.take(Kind.POD, LISTED, [_pod("a", "r", ready=True), _pod("b", "r", ready=True)], 1)
    seen.take(Kind.POD, LISTED, [_pod("b", "r", ready=True)], 2)
    assert list(seen.pods) == ["b"]
    seen.take(Kind.POD, LISTED, [], 3)
    seen.take(Kind.SERVICE, LISTED, [], 3)
    assert seen.empty()


def test_a_service_without_status_is_there_and_has_no_phase() -> None:
    """The service was applied, and no operator has read it yet."""
    seen = Observed()
    seen.take(Kind.SERVICE, "MODIFIED", [_sis(None)], 1)
    assert seen.phase == ""
    assert not seen.empty()
    assert not seen.phases


def test_a_phase_counts_when_it_is_entered() -> None:
    """Status writes in between move numbers, not the story."""
    seen = Observed()
    for at, phase in enumerate(("Watching", "Watching", "Responding", "Responding", "Watching")):
        seen.take(Kind.SERVICE, "MODIFIED", [_sis(phase)], at)
    assert [(each.at, each.what) for each in seen.phases] == [(0, "Watching"), (2, "Responding"), (4, "Watching")]


def test_listed_events_are_of_the_past() -> None:
    """An earlier run's Events lie in the namespace for an hour."""
    seen = Observed()
    event = {"metadata": {"name": "one"}, "reason": "RollingBack", "message": "AcceptanceRateLow"}
    seen.take(Kind.EVENT, LISTED, [event], 1)
    assert seen.last_event == ""
    seen.take(Kind.EVENT, "MODIFIED", [event], 2)
    assert seen.last_event == "RollingBack: AcceptanceRateLow"


@asynccontextmanager
async def served(answer: Answer) -> AsyncIterator[DynamicClient]:
    """A client of a server that answers every request by one function."""
    application = web.Application()
    application.router.add_route("*", "/{path:.*}", answer)
    async with TestServer(application) as server:
        settings = client.Configuration(host=str(server.make_url("/")).rstrip("/"))
        async with client.ApiClient(settings) as api:
            yield DynamicClient(api)


async def test_a_failed_request_is_counted_and_its_prompt_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is skipped, nothing is hidden, and the engine's own count of tokens is used."""
    monkeypatch.setattr(traffic, "_PAUSE", 0.01)
    asked: list[str] = []

    async def answer(request: web.Request) -> web.Response:
        body = await request.json()
        asked.append(body["prompt"])
        assert request.path == PATH
        assert (body["model"], body["temperature"], body["max_tokens"]) == ("tiny", 0, 96)
        if len(asked) == 2:
            return web.Response(status=503, text="no endpoints\navailable")
        return web.json_response({"usage": {"completion_tokens": 7}})

    async with served(answer) as api, asyncio.timeout(10):
        load = Traffic(api, PATH, "tiny", {Topic.CODE: ["one", "two", "three"], Topic.DRIFT: []})
        async with load.about(Topic.CODE):
            assert load.topic is Topic.CODE
            while len(load.completions) < 3:
                await asyncio.sleep(0.01)
        assert load.topic is None
    assert asked[:4] == ["one", "two", "two", "three"]
    assert {each.tokens for each in load.completions} == {7}
    assert [each.why for each in load.failures] == ["HTTP 503: no endpoints available"]


async def test_the_last_request_is_finished_and_that_of_a_failed_block_is_not() -> None:
    """A block that fails, as by Ctrl-C, does not wait for an engine."""
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def answer(_: web.Request) -> web.Response:
        begun.set()
        await go_on.wait()
        return web.json_response({"usage": {"completion_tokens": 7}})

    async with served(answer) as api, asyncio.timeout(10):
        load = Traffic(api, PATH, "tiny", {Topic.CODE: ["one"]})
        with pytest.RaisesGroup(ClusterError):
            async with load.about(Topic.CODE):
                await begun.wait()
                raise ClusterError("stopped")
        assert not load.completions
        begun.clear()
        async with load.about(Topic.CODE):
            await begun.wait()
            asyncio.get_running_loop().call_later(0.1, go_on.set)
        assert [each.tokens for each in load.completions] == [7]


async def test_a_server_that_is_gone_is_a_failure_and_no_crash(monkeypatch: pytest.MonkeyPatch) -> None:
    """During a rollout connections break; the client goes on."""
    monkeypatch.setattr(traffic, "_PAUSE", 0.01)

    async def answer(request: web.Request) -> web.Response:
        assert request.transport is not None
        request.transport.close()
        return web.Response()

    async with served(answer) as api, asyncio.timeout(10):
        load = Traffic(api, PATH, "tiny", {Topic.CODE: ["one"], Topic.DRIFT: ["two"]})
        async with load.about(Topic.DRIFT):
            while len(load.failures) < 4:
                await asyncio.sleep(0.01)
    assert not load.completions


async def test_engines_are_read_and_one_that_does_not_answer_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pod that is about to go refuses; the others are read on."""
    monkeypatch.setattr(traffic, "_READ_EVERY", 0.01)

    async def answer(request: web.Request) -> web.Response:
        if request.path != "/pods/http:good:8080/proxy/metrics":
            return web.Response(status=503, text="no route")
        names = ("draft_tokens", "accepted_tokens")
        return web.Response(text="".join(f"vllm:spec_decode_num_{name}_total 5.0\n" for name in names))

    readings: list[traffic.Reading] = []
    async with served(answer) as api, asyncio.timeout(10):
        reading = asyncio.create_task(traffic.read_engines(api, "/pods", lambda: ["gone", "good"], readings))
        while len(readings) < 2:
            await asyncio.sleep(0.01)
        reading.cancel()
    assert {(each.pod, each.drafted, each.accepted) for each in readings} == {("good", 5, 5)}


async def test_a_watch_lists_first_and_lists_again_after_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """An expired resource version ends the stream with an ERROR: what happened meanwhile is in the next list."""
    monkeypatch.setattr(observed, "_PAUSE", 0.01)
    asked: list[str] = []

    async def answer(request: web.Request) -> web.Response:
        assert request.query["labelSelector"] == "a"
        asked.append(request.query.get("resourceVersion", LISTED))
        lists = asked.count(LISTED)
        if "watch" not in request.query:
            return web.json_response({"metadata": {"resourceVersion": str(lists)}, "items": [{"number": lists}]})
        gone = {"code": 410, "reason": "Expired", "message": "too old resource version"}
        messages = [{"type": "MODIFIED", "object": {"wide": "x" * 100_000}}, {"type": "ERROR", "object": gone}]
        return web.Response(text="".join(json.dumps(each) + "\n" for each in messages[asked.count(str(lists)) - 1 :]))

    seen: list[str] = []
    async with served(answer) as api, asyncio.timeout(10):
        async for verb, _ in follow(api, "/things", label_selector="a"):
            seen.append(verb)
            if len(seen) == 3:
                break
    assert seen == [LISTED, "MODIFIED", LISTED]
    assert asked == [LISTED, "1", "1", LISTED]


async def test_an_api_server_that_refuses_is_reported_with_its_own_message() -> None:
    """An example is a missing CRD."""

    async def answer(_: web.Request) -> web.Response:
        return web.Response(status=404, text="the server could not find the requested resource")

    async with served(answer) as api:
        with pytest.raises(ClusterError, match=r"/things.*404.*could not find"):
            await anext(follow(api, "/things"))


async def test_a_busy_api_server_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A CRD of a moment ago is answered with 429 while its storage comes up."""
    monkeypatch.setattr(observed, "_PAUSE", 0.01)
    asked: list[str] = []

    async def answer(request: web.Request) -> web.Response:
        asked.append(request.path)
        if len(asked) < 3:
            return web.Response(status=429, headers={"Retry-After": "0"}, text="storage is (re)initializing")
        return web.json_response({"metadata": {"resourceVersion": "1"}, "items": []})

    async with served(answer) as api, asyncio.timeout(10):
        assert await anext(follow(api, "/apis/x")) == (LISTED, [])
    assert len(asked) == 3
