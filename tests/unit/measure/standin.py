"""A stand-in for an API server with operator, kubelet and vLLM behind it, for what `specdec measure` and `tune` ask of
them.

It is plain HTTP on loopback. A service that is made is served at once; what else may happen is set by its fields.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Container
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from aiohttp import web

from specdec_operator.names import DIAL_ANNOTATION, OWNER_LABEL, REVISION_LABEL, ROLLBACK_ANNOTATION

Object = dict[str, Any]
NAMESPACE = "team-a"
TOKEN = "let-me-in"  # noqa: S105 - of the stand-in
_SERVICES = f"/apis/serving.specdec.io/v1alpha1/namespaces/{NAMESPACE}/speculativeinferenceservices"
_CORE = f"/api/v1/namespaces/{NAMESPACE}"
_TOKENS = 8


def service(name: str = "llama", **parts: Any) -> Object:
    spec = {
        "model": {"uri": "hf://meta/llama"},
        "speculation": {"method": "draft_model", "tokens": 4, "draft": {"uri": "hf://meta/draft"}},
        "rollout": {"deadline": "10m"},
    }
    return {
        "metadata": {"name": name, "namespace": NAMESPACE, "generation": 1},
        "spec": spec | parts,
        "status": status("Watching", speculating=True),
    }


def status(phase: str, *, speculating: bool, reason: str = "", message: str = "") -> Object:
    return {
        "observedGeneration": 1,
        "phase": phase,
        "reason": reason,
        "message": message,
        "serving": {
            "speculating": speculating,
            "method": "draft_model" if speculating else "none",
            "tokens": 4 if speculating else 0,
            "revision": "spec0" if speculating else "plain0",
        },
        "kserve": {"version": "0.20", "seen": "the CRD is of 0.20"},
        "guard": {},
    }


@dataclass(kw_only=True)
class StandIn:
    """A cluster for a measurement: its services, the requests it got, and the faults to inject.

    no_room: the twin's pod is never scheduled. failing: which requests, by number, are answered with HTTP 503.
    taken_out_after: requests after which the guard takes speculation out. nodes: whether nodes may be read.
    dial: draft tokens that the dial is set to. follows: whether the pods do so. turned_after: requests after which
    another user turns it, and turned_to: to what. broken: which reads and changes of a service, by number, get HTTP
    500.
    """

    services: dict[str, Object] = field(default_factory=dict)
    requests: list[tuple[str, Object]] = field(default_factory=list)
    tokens: dict[str, float] = field(default_factory=dict)
    deleted: list[str] = field(default_factory=list)
    annotated: list[Object] = field(default_factory=list)
    no_room: bool = False
    failing: Container[int] = ()
    taken_out_after: int = 10**9
    nodes: bool = True
    dial: int | None = None
    follows: bool = True
    turned_after: int = 10**9
    turned_to: str | None = None
    broken: Container[tuple[str, int]] = ()
    asked: dict[str, int] = field(default_factory=dict)
    drafts: dict[str, float] = field(default_factory=dict)

    @property
    def url(self) -> str:
        return self._url

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        app = web.Application(middlewares=[_signed_in])
        app.add_routes(
            [
                web.get(_SERVICES + "/{name}", self._get),
                web.post(_SERVICES, self._post),
                web.patch(_SERVICES + "/{name}", self._patch),
                web.delete(_SERVICES + "/{name}", self._delete),
                web.get(f"{_CORE}/pods", self._pods),
                web.get("/api/v1/nodes/{name}", self._node),
                web.post(_CORE + "/services/{address}/proxy/v1/{kind:.*}", self._ask),
                web.get(_CORE + "/pods/{address}/proxy/metrics", self._metrics),
                web.get(_CORE + "/pods/{address}/proxy/version", self._version),
            ]
        )
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        self._url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        try:
            yield
        finally:
            await runner.cleanup()

    def kubeconfig(self, folder: Path) -> str:
        path = folder / "kubeconfig"
        context = {"cluster": "here", "user": "me", "namespace": NAMESPACE}
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "here",
            "contexts": [{"name": "here", "context": context}],
            "clusters": [{"name": "here", "cluster": {"server": self.url}}],
            "users": [{"name": "me", "user": {"token": TOKEN}}],
        }
        path.write_text(yaml.safe_dump(config))
        return str(path)

    def _speculates(self, name: str) -> bool:
        return bool(self.services[name]["status"]["serving"]["speculating"])

    def _breaks(self, request: web.Request) -> bool:
        self.asked[request.method] = number = self.asked.get(request.method, 0) + 1
        return (request.method, number) in self.broken

    async def _get(self, request: web.Request) -> web.Response:
        if self._breaks(request):
            return web.json_response({"message": "etcd timed out"}, status=500)
        found = self.services.get(request.match_info["name"])
        return web.json_response(found) if found else _missing()

    async def _post(self, request: web.Request) -> web.Response:
        made = await request.json()
        made["metadata"]["generation"] = 1
        made["status"] = status("Serving", speculating=False)
        if self.no_room:
            made["status"] = status("RollingOut", speculating=False, reason="Unschedulable", message="Insufficient gpu")
        self.services[made["metadata"]["name"]] = made
        return web.json_response(made, status=201)

    async def _patch(self, request: web.Request) -> web.Response:
        if self._breaks(request):
            return web.json_response({"message": "etcd timed out"}, status=500)
        found = self.services[request.match_info["name"]]
        annotations = (await request.json())["metadata"]["annotations"]
        self.annotated.append(annotations)
        if DIAL_ANNOTATION in annotations:
            self._turn(found, annotations[DIAL_ANNOTATION])
            return web.json_response(found)
        rolled_back = ROLLBACK_ANNOTATION in annotations
        found["status"] = status("RolledBack" if rolled_back else "Watching", speculating=not rolled_back)
        found["status"]["guard"]["handledRetry"] = next(iter(annotations.values()))
        return web.json_response(found)

    def _turn(self, found: Object, text: str | None) -> None:
        """The dial, followed at once."""
        found["metadata"]["annotations"] = {DIAL_ANNOTATION: text} if text else {}
        self.dial = None if text is None else int(text.split()[0])
        follow = {"tokens": self.dial, "pods": 1, "inForce": int(self.follows), "message": "1 of 1 pods follow"}
        found["status"].pop("dial", None)
        if self.dial is not None:
            found["status"]["dial"] = follow

    async def _delete(self, request: web.Request) -> web.Response:
        name = request.match_info["name"]
        self.deleted.append(name)
        return web.json_response({}) if self.services.pop(name, None) else _missing()

    async def _pods(self, request: web.Request) -> web.Response:
        name = request.query["labelSelector"].removeprefix(f"{OWNER_LABEL}=")
        return web.json_response({"items": [self._pod(name)] if name in self.services else []})

    def _pod(self, name: str) -> Object:
        serving = self.services[name]["status"]["serving"]
        speculation = ['--speculative-config={"method":"draft_model"}'] if serving["speculating"] else []
        container = {
            "name": "kserve-container",
            "image": "registry.example/vllm:1",
            "command": ["python3", "-m", "vllm"],
            "args": ["--model=/mnt/target/model", *speculation],
            "env": [{"name": "INFERENCE_SERVICE_NAME", "value": name}, {"name": "HF_TOKEN", "value": "hush"}],
            "resources": {"limits": {"nvidia.com/gpu": "1"}},
        }
        return {
            "metadata": {"name": f"{name}-0", "labels": {REVISION_LABEL: serving["revision"]}},
            "spec": {"nodeName": "node-1", "containers": [container]},
            "status": {"conditions": [{"type": "Ready", "status": "True"}]},
        }

    async def _node(self, request: web.Request) -> web.Response:
        if not self.nodes:
            return web.json_response({"message": "nodes is forbidden"}, status=403)
        labels = {"nvidia.com/gpu.product": "L4", "kubernetes.io/hostname": request.match_info["name"]}
        capacity = {"cpu": "8", "memory": "32Gi", "pods": "110", "nvidia.com/gpu": "1"}
        return web.json_response({"metadata": {"labels": labels}, "status": {"capacity": capacity}})

    async def _version(self, _: web.Request) -> web.Response:
        return web.json_response({"version": "0.32.0"})

    async def _metrics(self, request: web.Request) -> web.Response:
        name = _named(request, "-0:8080")
        tokens = self.tokens.get(name, 0.0)
        lines = [f"vllm:generation_tokens_total {tokens}"]
        if self._speculates(name):
            drafts = self.drafts.get(name, 0.0)
            lines += [
                f"vllm:spec_decode_num_drafts_total {drafts / 4}",
                f"vllm:spec_decode_num_draft_tokens_total {drafts}",
                f"vllm:spec_decode_num_accepted_tokens_total {drafts * 0.75}",
                *(
                    f'vllm:spec_decode_num_accepted_tokens_per_pos_total{{position="{place}"}} {drafts * 0.75 / 4}'
                    for place in range(4)
                ),
            ]
        return web.Response(text="\n".join(lines) + "\n")

    async def _ask(self, request: web.Request) -> web.StreamResponse:
        name, body = _named(request, "-predictor:80"), await request.json()
        self.requests.append((name, body))
        if len(self.requests) in self.failing:
            return web.json_response({"message": "no endpoints available"}, status=503)
        if len(self.requests) >= self.taken_out_after:
            words = {"reason": "AcceptanceRateLow", "message": "0.10 < 0.50"}
            self.services[name]["status"] = status("Responding", speculating=False, **words)
        if len(self.requests) == self.turned_after:
            self._turn(self.services[name], self.turned_to)
        return await self._stream(request, name, chat="messages" in body)

    async def _stream(self, request: web.Request, name: str, *, chat: bool) -> web.StreamResponse:
        """Tokens as vLLM sends them: two at a time where it speculates; usage in a piece of its own; then [DONE]."""
        answer = web.StreamResponse(headers={"Content-Type": "text/event-stream; charset=utf-8"})
        await answer.prepare(request)
        words = ["word "] * _TOKENS
        if chat:
            await _send(answer, {"choices": [{"delta": {"role": "assistant", "content": ""}}]})
        step = 2 if self._speculates(name) and self.dial != 0 else 1
        for index in range(0, _TOKENS, step):
            await asyncio.sleep(0.002)
            text = "".join(words[index : index + step])
            await _send(answer, {"choices": [{"delta": {"content": text}} if chat else {"text": text}]})
        await _send(answer, {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": _TOKENS}})
        self.tokens[name] = self.tokens.get(name, 0.0) + _TOKENS
        self.drafts[name] = self.drafts.get(name, 0.0) + (0 if self.dial == 0 else _TOKENS)
        await answer.write(b"data: [DONE]\n\n")
        return answer


@web.middleware
async def _signed_in(request: web.Request, handler: Any) -> web.StreamResponse:
    if request.headers.get("Authorization") != f"Bearer {TOKEN}":
        return web.json_response({"message": "Unauthorized"}, status=401)
    answer: web.StreamResponse = await handler(request)
    return answer


def _named(request: web.Request, rest: str) -> str:
    """The service in an address of the proxy: http:NAME and the rest."""
    address = request.match_info["address"]
    assert address.startswith("http:")
    assert address.endswith(rest)
    return address.removeprefix("http:").removesuffix(rest)


async def _send(answer: web.StreamResponse, event: Object) -> None:
    await answer.write(f"data: {json.dumps(event)}\n\n".encode())


def _missing() -> web.Response:
    return web.json_response({"message": "not found"}, status=404)
