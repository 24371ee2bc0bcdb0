"""The client of the API server over real HTTP: what it sends, what it waits out, and what it makes of a refusal."""

import json
import pathlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import yaml
from aiohttp import web
from kubernetes.aio import client as library
from prometheus_client import REGISTRY

from specdec_operator import names
from specdec_operator.errors import Invalid, OperatorError, TooLarge, Unavailable
from specdec_operator.kube import request
from specdec_operator.kube.client import ApiError, ApiServer, KubeClient
from specdec_operator.kube.request import ApiRequests

BUSY = "storage is (re)initializing"
PATH = names.services_path("team-a", "llama")


class Server:
    """Answers with what is in `answers`, by turns, the last for ever; keeps what it was asked."""

    def __init__(self, *answers: tuple[int, Any]) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[str, str, Any]] = []
        self.headers: dict[str, str] = {}

    async def answer(self, asked: web.Request) -> web.Response:
        text = await asked.text()
        self.asked.append((asked.method, asked.path_qs, json.loads(text) if text else None))
        self.headers = {name: value for name, value in asked.headers.items()}  # noqa: C416 - the last of each name
        status, body = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        more = {"Retry-After": "0"} if status in (429, 503) else {}
        if isinstance(body, str):
            return web.Response(status=status, text=body, headers=more)
        return web.json_response(body, status=status, headers=more)

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[str]:
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self.answer)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        try:
            yield f"http://127.0.0.1:{runner.addresses[0][1]}"
        finally:
            await runner.cleanup()


@asynccontextmanager
async def asking(server: Server, *, patience: float | None = None, path: str = "") -> AsyncIterator[KubeClient]:
    async with server.listening() as url:
        settings = library.Configuration(host=url + path, api_key={"BearerToken": "Bearer t"})
        async with KubeClient(ApiRequests(settings, agent="tests", timeout=5.0, patience=patience)) as made:
            yield made


def status(message: str) -> dict[str, str]:
    return {"kind": "Status", "message": message}


async def test_a_request_carries_the_token_and_the_api_s_own_names() -> None:
    """Also where the server is behind a path of its address."""
    server = Server((200, {"items": []}))
    async with asking(server, path="/k8s/clusters/c1/") as api:
        assert await api.get("/api/v1/pods", labelSelector="a=b") == {"items": []}
    assert server.asked == [("GET", "/k8s/clusters/c1/api/v1/pods?labelSelector=a%3Db", None)]
    assert (server.headers["Authorization"], server.headers["User-Agent"]) == ("Bearer t", "tests")


@pytest.mark.parametrize("code", [429, 503])
async def test_a_server_that_is_busy_is_asked_again(code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A CRD of a moment ago is answered so while its storage comes up. The error of one that stays busy is shown."""
    monkeypatch.setattr(request, "_PAUSE", 0.01)
    server = Server(*[(code, status(BUSY))] * 3, (200, {"items": []}))
    async with asking(server) as api:
        assert await api.get(PATH) == {"items": []}
    assert len(server.asked) == 4
    async with asking(Server((code, status(BUSY))), patience=0.05) as api:
        with pytest.raises(Unavailable, match=f"HTTP {code}: storage is"):
            await api.get(PATH)


async def test_the_operator_does_not_wait_for_a_busy_server() -> None:
    """The operator's reconcile has its own back-off, which gets the delay that the server requests."""
    server = Server((429, status(BUSY)))
    async with asking(server, patience=0.0) as api:
        with pytest.raises(Unavailable, match="HTTP 429 for") as raised:
            await ApiServer(api).apply_status("team-a", "llama", {})
    assert (raised.value.reason, len(server.asked)) == ("ApiServerRefused", 1)


@pytest.mark.parametrize(
    ("code", "body", "answer"),
    [
        (403, status("not you"), "not you"),
        (500, {"error": {"message": "an engine's"}}, "an engine's"),
        (502, "<html>\nno gateway", "<html> no gateway"),
        (500, "", "Internal Server Error"),
    ],
)
async def test_a_refusal_is_reported_at_once_with_the_message_of_the_server(code: int, body: Any, answer: str) -> None:
    server = Server((code, body))
    async with asking(server) as api:
        with pytest.raises(ApiError) as raised:
            await api.get(PATH)
    assert (raised.value.status, raised.value.answer, len(server.asked)) == (code, answer, 1)
    assert raised.value.message == f"GET {PATH}: HTTP {code}: {answer}"


@pytest.mark.parametrize("body", ["{", "[]"])
async def test_an_answer_that_is_not_an_object_is_an_error(body: str) -> None:
    """For example the answer of a proxy in between."""
    async with asking(Server((200, body))) as api:
        with pytest.raises(ApiError, match=r"did not answer: not (a )?JSON") as raised:
            await api.get(PATH)
    assert (raised.value.status, raised.value.reason) == (0, "ApiServerUnavailable")


@pytest.mark.parametrize(
    ("code", "error", "words"),
    [
        (422, Invalid, "InferenceService llama.*the API server rejected it: no"),
        (403, Unavailable, r"InferenceService llama: no"),
        (404, Unavailable, "this cluster has no CRD of InferenceServices"),
        (500, Unavailable, "HTTP 500 for /apis/serving.kserve.io/.*: no"),
    ],
)
async def test_the_error_shows_who_has_to_act(code: int, error: type[Exception], words: str) -> None:
    """Invalid: the author of the service. Unavailable: the administrator of the cluster."""
    meta = {"name": "llama", "namespace": "team-a"}
    async with asking(Server((code, status("no"))), patience=0.0) as api:
        with pytest.raises(error, match=words):
            await ApiServer(api).apply(
                {"apiVersion": "serving.kserve.io/v1beta1", "kind": "InferenceService", "metadata": meta}
            )


@pytest.mark.parametrize(
    ("code", "answer", "reason"),
    [
        (422, "no", "InvalidSpec"),
        (403, 'User "o" cannot patch resource "inferenceservices"', "Forbidden"),
        (403, "pods is forbidden: exceeded quota: one", "QuotaExceeded"),
        (400, 'admission webhook "w" denied the request: no', "AdmissionRefused"),
        (409, "the object has been modified", "ApiServerRefused"),
    ],
)
async def test_a_refused_write_is_counted_by_kind_and_reason(code: int, answer: str, reason: str) -> None:
    """A dry run counts too: what refuses it refuses the write. An Event has no kind of its own in the request."""

    def refused(kind: str) -> float:
        labels = {"kind": kind, "reason": reason}
        return REGISTRY.get_sample_value("specdec_refused_writes_total", labels) or 0.0

    before = refused("InferenceService"), refused("Event")
    async with asking(Server((code, status(answer))), patience=0.0) as api:
        with pytest.raises(OperatorError):
            await ApiServer(api).patch(CHILD, [], dry_run=True)
        with pytest.raises(OperatorError):
            await ApiServer(api).post_event("team-a", {"reason": "R"})
    assert (refused("InferenceService"), refused("Event")) == (before[0] + 1, before[1] + 1)


async def test_reads_and_writes_without_an_answer_are_not_refused_writes() -> None:
    """The API server did not answer, or an object was not there to be deleted."""

    def refused() -> float:
        families = (each for each in REGISTRY.collect() if each.name == "specdec_refused_writes")
        return sum(one.value for each in families for one in each.samples if one.name.endswith("_total"))

    before = refused()
    async with asking(Server((500, status("no"))), patience=0.0) as api:
        with pytest.raises(OperatorError):
            await ApiServer(api).find(CHILD)
    async with asking(Server((200, "not JSON")), patience=0.0) as api:
        with pytest.raises(OperatorError):
            await ApiServer(api).apply(CHILD)
    async with asking(Server((404, status("gone"))), patience=0.0) as api:
        await ApiServer(api).remove(CHILD)
    assert refused() == before


CHILD = {
    "apiVersion": "serving.kserve.io/v1beta1",
    "kind": "InferenceService",
    "metadata": {"name": "llama", "namespace": "team-a", "uid": "u", "resourceVersion": "7"},
}
CHILD_PATH = "/apis/serving.kserve.io/v1beta1/namespaces/team-a/inferenceservices/llama"


async def test_another_object_of_the_name_is_not_an_error_of_the_user() -> None:
    """The write was for the object that was read: the operator reads it again, and does not refuse the service."""
    immutable = 'InferenceService "llama" is invalid: metadata.uid: Invalid value: "u": field is immutable'
    async with asking(Server((422, status(immutable))), patience=0.0) as api:
        with pytest.raises(Unavailable, match="field is immutable"):
            await ApiServer(api).apply(CHILD)


async def test_writes_hold_for_the_object_that_was_looked_at() -> None:
    """By force or not, by uid, by version: as the caller sets it."""
    server = Server((200, CHILD))
    async with asking(server, patience=0.0) as api:
        cluster = ApiServer(api)
        assert await cluster.find(CHILD) == CHILD
        await cluster.apply(CHILD, force=False)
        await cluster.set_managers(CHILD, [{"manager": "m"}])
        await cluster.remove(CHILD)
        await cluster.remove({**CHILD, "metadata": {"name": "llama", "namespace": "team-a"}})
    managers = {"metadata": {"resourceVersion": "7", "managedFields": [{"manager": "m"}]}}
    assert server.asked == [
        ("GET", CHILD_PATH, None),
        ("PATCH", f"{CHILD_PATH}?fieldManager=specdec-operator&force=false", CHILD),
        ("PATCH", f"{CHILD_PATH}?fieldManager=specdec-operator", managers),
        ("DELETE", CHILD_PATH, {"propagationPolicy": "Background", "preconditions": {"uid": "u"}}),
        ("DELETE", CHILD_PATH, {"propagationPolicy": "Background"}),
    ]


@pytest.mark.parametrize("code", [429, 500])
async def test_an_eviction_that_a_budget_forbids_differs_from_other_errors(code: int) -> None:
    """429: not now. 500: several budgets name the pod, and Kubernetes evaluates none of them."""
    server = Server((code, status("the disruption budget llama needs 2 healthy pods")), (503, status(BUSY)))
    async with asking(server, patience=0.0) as api:
        with pytest.raises(Unavailable, match="needs 2 healthy pods") as raised:
            await ApiServer(api).evict("team-a", "llama-0")
        assert raised.value.reason == "NotEvicted"
        with pytest.raises(Unavailable, match=BUSY.split(maxsplit=1)[0]) as raised:
            await ApiServer(api).evict("team-a", "llama-0")
        assert raised.value.reason == "ApiServerRefused"
    method, path, body = server.asked[0]
    assert (method, path) == ("POST", "/api/v1/namespaces/team-a/pods/llama-0/eviction")
    assert (body["apiVersion"], body["kind"], body["metadata"]["name"]) == ("policy/v1", "Eviction", "llama-0")


async def test_a_deleted_object_causes_no_error() -> None:
    """The operator may delete it, read it or write its status."""
    async with asking(Server((404, status("gone"))), patience=0.0) as api:
        cluster = ApiServer(api)
        await cluster.remove({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "namespace": "b"}})
        await cluster.evict("b", "a")
        assert await cluster.read("/api/v1/namespaces/b/pods/a") is None
        assert await cluster.find(CHILD) is None
        assert await cluster.apply_status("team-a", "llama", {}) == 0
        assert await cluster.log_end("b", "a") == ""


@pytest.mark.parametrize("more", [0, 1])
async def test_an_answer_of_more_bytes_than_may_be_read_is_counted_and_not_kept(more: int) -> None:
    """The error has its size. Selectors and pages are in the query."""
    answer = {"items": [], "fill": "x" * 300_000}
    size = len(json.dumps(answer))
    server = Server((200, answer))
    async with asking(server, patience=0.0) as api:
        read = ApiServer(api).read("/api/v1/pods", most=size - more, label_selector="a=b", limit="25")
        if more:
            with pytest.raises(TooLarge, match=f"/api/v1/pods has {size} bytes as JSON, and .* at most {size - 1}"):
                await read
        else:
            assert await read == answer
    assert server.asked[0][1] == "/api/v1/pods?labelSelector=a%3Db&limit=25"


async def test_names_are_listed_in_pages() -> None:
    """Metadata alone, page after page, by the label; an empty list may come as null."""
    first = {"metadata": {"continue": "more"}, "items": [{"metadata": {"name": "a"}}, {"metadata": {"name": "b"}}]}
    server = Server((200, first), (200, {"metadata": {}, "items": None}))
    async with asking(server, patience=0.0) as api:
        assert await ApiServer(api).list_metadata("/api/v1/pods", "owner") == [{"name": "a"}, {"name": "b"}]
    paths = [path for _, path, _ in server.asked]
    assert paths == [
        "/api/v1/pods?labelSelector=owner&limit=100",
        "/api/v1/pods?labelSelector=owner&limit=100&continue=more",
    ]
    assert "as=PartialObjectMetadataList" in server.headers["Accept"]


async def test_of_an_object_that_is_too_large_to_be_of_a_service_the_metadata_is_read() -> None:
    """The owner is in it, and nothing else matters."""
    whole = {"metadata": {"name": "llama"}, "spec": {"fill": "x" * 600_000}}
    server = Server((200, whole), (200, {"metadata": {"name": "llama"}}))
    async with asking(server, patience=0.0) as api:
        assert await ApiServer(api).find(CHILD) == {"metadata": {"name": "llama"}}
    assert len(server.asked) == 2
    assert "as=PartialObjectMetadata;" in server.headers["Accept"]


async def test_of_metadata_no_values_are_kept_that_any_user_can_make_large() -> None:
    """Of annotations the names of ours; labels, unless there are hundreds; of those who own fields the guard."""
    notes = {"specdec.io/taken-out": "x" * 1000, "other": "y"}
    meta = {"name": "a", "labels": {"b": "c"}, "annotations": notes, "managedFields": [{"manager": "x"}]}
    fields = [{"manager": "x"}, {"manager": "specdec-guard", "fieldsV1": {"f:spec": {}}}]
    many = {"name": "b", "labels": {f"l{number}": "" for number in range(300)}, "managedFields": fields}
    async with asking(Server((200, {"items": [{"metadata": each} for each in (meta, many)]})), patience=0.0) as api:
        found = await ApiServer(api).list_metadata("/x", "")
    small = {"name": "a", "labels": {"b": "c"}, "annotations": {"specdec.io/taken-out": ""}}
    assert found == [small, {"name": "b", "managedFields": [{"manager": "specdec-guard"}]}]


@pytest.mark.parametrize(("code", "names"), [(403, None), (404, [])])
async def test_a_kind_that_is_not_served_has_no_names_and_one_that_may_not_be_read_unknown_ones(
    code: int, names: list[str] | None
) -> None:
    """The operator reports both in another way."""
    async with asking(Server((code, status("no"))), patience=0.0) as api:
        assert await ApiServer(api).list_metadata("/api/v1/pods", "") == names


async def test_a_user_comes_from_the_kubeconfig(tmp_path: pathlib.Path) -> None:
    """With its token, and in the namespace of its context."""
    server, file = Server((200, {})), tmp_path / "kubeconfig"
    async with server.listening() as url:
        context = {"name": "c", "context": {"cluster": "c", "user": "u", "namespace": "team-b"}}
        users = [{"name": "u", "user": {"token": "mine"}}]
        clusters = [{"name": "c", "cluster": {"server": url}}]
        content = {"current-context": "c", "contexts": [context], "clusters": clusters, "users": users}
        file.write_text(yaml.safe_dump(content))
        async with await KubeClient.as_user(str(file)) as api:
            await api.merge(PATH, {"metadata": {"labels": {"a": "b"}}})
            assert (api.namespace, api.server) == ("team-b", url)
    assert server.headers["Authorization"] == "Bearer mine"
    assert server.asked[0][0] == "PATCH"
