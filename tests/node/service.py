"""One sis on the real node: applied, asked over HTTP, and looked at."""

import asyncio
import json
import pathlib
import time
import uuid
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any, Self

from specdec_operator import names
from tests.wire.api import DEPLOYMENT, ISVC, POD, SIS, Api, Object

NAME = "tiny"
_KINDS = (SIS, ISVC, DEPLOYMENT, POD, ("v1", "services"), ("apps/v1", "replicasets"), ("batch/v1", "jobs"))
ENGINE = {
    "accelerator": "cpu",
    "maxModelLen": 1024,
    "enforceEager": True,
    "args": ["--distributed-executor-backend=uni"],  # with the first variable: one process, ten seconds less to start
    "env": [
        {"name": "VLLM_ENABLE_V1_MULTIPROCESSING", "value": "0"},
        {"name": "OMP_NUM_THREADS", "value": "1"},
    ],
}


class Service:
    """A sis and its clients."""

    def __init__(self, api: Api, namespace: str, models: pathlib.Path, name: str = NAME) -> None:
        self.api = api
        self.namespace = namespace
        self.name = name
        self._models = models
        self._prompts: dict[str, list[str]] = json.loads((models / "prompts.json").read_text())

    def sibling(self, name: str) -> "Service":
        """Another sis of the same namespace."""
        return Service(self.api, self.namespace, self._models, name)

    async def apply(self, speculation: Object | None, parts: Object | None = None, **guard: Any) -> None:
        """Applies the sis as a user does, with windows of seconds. parts: of the spec, in place of the usual ones.

        Without a retry the guard rolls back at once, which most of these tests are about, and dials nothing first.
        """
        quick = {"interval": "1s", "window": "6s", "warmup": "1s", "failureLimit": 2, "minDraftTokens": 200}
        quick |= {"retry": {"limit": 0}}
        spec: Object = {
            "model": {"uri": "pvc://models/target"},
            "engine": ENGINE,
            "rollout": {"strategy": "Replace", "deadline": "5m"},
            "guard": quick | guard,
        } | (parts or {})
        if speculation:
            spec["speculation"] = speculation
        meta = {"name": self.name}
        await self.api.apply(
            SIS,
            self.namespace,
            {"apiVersion": SIS[0], "kind": "SpeculativeInferenceService", "metadata": meta, "spec": spec},
        )

    async def retry(self) -> None:
        """Asks for speculation again after a rollback, as `kubectl annotate` does."""
        nonce = {"metadata": {"annotations": {"specdec.io/retry": uuid.uuid4().hex}}}
        await self.api.merge(SIS, self.namespace, self.name, nonce)

    async def status(self) -> Object:
        """Its status."""
        found = await self.api.get(SIS, self.namespace, self.name)
        return found.get("status", {}) if found else {}

    async def child(self) -> Object:
        """The predictor of the InferenceService that the operator made of it."""
        found = await self.api.get(ISVC, self.namespace, self.name)
        assert found is not None
        predictor: Object = found["spec"]["predictor"]
        return predictor

    async def until(self, what: str, probe: Callable[[], Awaitable[Any]], seconds: float) -> Any:
        """Waits until the probe gives something."""
        deadline = time.monotonic() + seconds
        while not (found := await probe()):
            if time.monotonic() > deadline:
                pods = [each.get("status") for each in await self.api.items(POD, self.namespace)]
                raise AssertionError(f"{what}: not within {seconds:.0f} s; sis {await self.status()}; pods {pods}")
            await asyncio.sleep(0.2)
        return found

    async def phase(self, *wanted: str, seconds: float = 480.0) -> Object:
        """Waits for a phase; returns the status."""

        async def there() -> Object | None:
            status = await self.status()
            return status if status.get("phase") in wanted else None

        found: Object = await self.until(f"phase {wanted}", there, seconds)
        return found

    async def condition(self, kind: str, reason: str, seconds: float = 180.0) -> Object:
        """Waits until a condition has this reason; returns the condition."""

        async def there() -> Object | None:
            conditions = (await self.status()).get("conditions", [])
            return next((each for each in conditions if (each["type"], each["reason"]) == (kind, reason)), None)

        found: Object = await self.until(f"{kind} for {reason}", there, seconds)
        return found

    async def events(self) -> dict[str, str]:
        """The messages of the sis's Events, by reason."""
        found = await self.api.items(("v1", "events"), self.namespace)
        mine = (names.KIND, self.name)
        return {
            each["reason"]: each["message"]
            for each in found
            if (each["involvedObject"]["kind"], each["involvedObject"]["name"]) == mine
        }

    async def event(self, reason: str) -> str:
        """The message of an Event. The operator sends it after the status, so this waits for it."""

        async def sent() -> str | None:
            return (await self.events()).get(reason)

        message: str = await self.until(f"an Event {reason}", sent, 10)
        return message

    async def verdict(self, wanted: str, kind: str, seconds: float = 180.0) -> Object:
        """Sends traffic of one kind until a window has this verdict; returns the status."""
        async with Traffic(self, kind):

            async def there() -> Object | None:
                status = await self.status()
                return status if status.get("guard", {}).get("verdict") == wanted else None

            found: Object = await self.until(f"verdict {wanted} on {kind}", there, seconds)
            return found

    async def drafts(self) -> Object:
        """Waits until the draft pays on code, by the engine's own counters; returns the status."""
        await self.phase("Watching")
        status = await self.verdict("Pass", "code")
        assert status["acceptance"]["rate"] > 0.5
        return status

    async def ask(self, prompt: str, **sampling: Any) -> Object:
        """One completion, through the API server's service proxy."""
        path = f"/api/v1/namespaces/{self.namespace}/services/http:{self.name}-predictor:80/proxy/v1/completions"
        body = {"model": self.name, "prompt": prompt, "max_tokens": 96, "temperature": 0} | sampling
        return await self.api.call("post", path, body)

    def prompt(self, kind: str, number: int) -> str:
        """One of the prompts of a kind."""
        prompts = self._prompts[kind]
        return prompts[number % len(prompts)]

    async def remove(self) -> None:
        """Deletes every sis of the namespace and waits until nothing that they made is left."""
        for each in await self.api.items(SIS, self.namespace):
            await self.api.delete(SIS, self.namespace, each["metadata"]["name"])

        async def gone() -> bool:
            return not [each for kind in _KINDS for each in await self.api.items(kind, self.namespace)]

        await self.until("everything gone", gone, 120)


class Traffic:
    """One client that asks again and again, for the length of a block. times: each prompt is written so often, one
    after the other. sampling: of every request.
    """

    def __init__(self, service: Service, kind: str, *, times: int = 1, **sampling: Any) -> None:
        self._service = service
        self._kind = kind
        self._times = times
        self._sampling = sampling
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> "Traffic":
        self._task = asyncio.create_task(self._run())
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self) -> None:
        number = 0
        while True:
            await self._service.ask(self._times * self._service.prompt(self._kind, number), **self._sampling)
            number += 1


class Crowd:
    """Several clients, each as Traffic."""

    def __init__(self, service: Service, kind: str, number: int, *, times: int = 1, **sampling: Any) -> None:
        self._clients = [Traffic(service, kind, times=times, **sampling) for _ in range(number)]
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        for each in self._clients:
            await self._stack.enter_async_context(each)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()
