"""What `helm test` runs: a sample is applied, seen by the operator, made into an InferenceService, and deleted."""

import argparse
import asyncio
import json
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from specdec_operator import names
from specdec_operator.errors import OperatorError, Unavailable
from specdec_operator.kube.client import KubeClient

_TIMEOUT: Final = 10.0
_PAUSE: Final = 0.5
_GONE_SECONDS: Final = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SelfTestOrder:
    """What to apply, and how long to wait for it. ready: wait until the sample serves. wait: seconds."""

    namespace: str
    name: str
    spec: dict[str, Any]
    ready: bool
    wait: float


def missing(service: dict[str, Any] | None, child: dict[str, Any] | None, *, ready: bool) -> str:
    """A sentence about what is missing; empty if nothing is. Raises Unavailable if it will never come."""
    if service is None:
        raise Unavailable("Gone", "another client deleted the sample")
    status = service.get("status") or {}
    if status.get("observedGeneration") != service["metadata"]["generation"]:
        return (
            "the operator has not handled the sample yet: check that its pod is Ready and that it watches this "
            "namespace"
        )
    conditions = {each["type"]: each for each in status.get("conditions", [])}
    state = "; ".join(
        f"{name}={each['status']} ({each['reason']}) {each['message']}" for name, each in conditions.items()
    )
    if conditions.get("Stalled", {}).get("status") == "True":
        raise Unavailable("Stalled", f"the sample cannot run: {state}")
    owners = (child or {}).get("metadata", {}).get("ownerReferences", [])
    if not any(each["uid"] == service["metadata"]["uid"] for each in owners):
        return f"its InferenceService does not exist yet: {state}"
    if ready and conditions.get("Ready", {}).get("status") != "True":
        return f"the sample is not Ready yet: {state}"
    return ""


async def run(order: SelfTestOrder) -> None:
    """Applies, waits, deletes. Raises Unavailable with a sentence."""
    path, meta = names.services_path(order.namespace, order.name), {"name": order.name, "namespace": order.namespace}
    body = {"apiVersion": names.API_VERSION, "kind": names.KIND, "metadata": meta, "spec": order.spec}
    group = f"/apis/{names.KSERVE_GROUP}/{names.KSERVE_VERSION}"
    child = f"{group}/namespaces/{order.namespace}/inferenceservices/{order.name}"
    async with await KubeClient.as_operator(timeout=_TIMEOUT) as client:

        async def lacking() -> str:
            return missing(await client.find(path), await client.find(child), ready=order.ready)

        await remove(client, path)
        await client.create(names.services_path(order.namespace), body)
        _say(f"{order.namespace}/{order.name} is applied")
        try:
            if still := await _until(lacking, order.wait):
                raise Unavailable("TooSlow", f"after {order.wait:.0f} s: {still}")
            _say(
                ("the operator has handled it and created its InferenceService")
                + (", which is Ready" if order.ready else "")
            )
        finally:
            await remove(client, path)
        _say("the sample is deleted again")


async def remove(client: KubeClient, path: str) -> None:
    """Deletes the sample and waits until it is gone. Raises Unavailable where it stays."""
    await client.delete(path)

    async def left() -> str:
        service = await client.find(path)
        return "" if service is None else f"finalizers {service['metadata'].get('finalizers', [])}"

    if still := await _until(left, _GONE_SECONDS):
        raise Unavailable("StillThere", f"{path}: still exists {_GONE_SECONDS:.0f} s after its deletion: {still}")


async def _until(probe: Callable[[], Awaitable[str]], seconds: float) -> str:
    """Asks again and again until the probe returns no text; returns its last text, empty if it is done."""
    state = "nothing was checked"
    try:
        async with asyncio.timeout(seconds):
            while state := await probe():
                await asyncio.sleep(_PAUSE)
    except TimeoutError:
        return state
    return ""


def read(argv: Sequence[str]) -> SelfTestOrder:
    """The order of a command line."""
    parser = argparse.ArgumentParser(prog="specdec_operator.hooks.selftest", description=__doc__)
    parser.add_argument("--namespace", required=True)
    parser.add_argument("--name", required=True)
    parser.add_argument("--spec", required=True, type=json.loads, help="the sample's spec, as JSON")
    parser.add_argument("--ready", action="store_true", help="wait until the sample serves")
    parser.add_argument("--wait", type=float, default=120.0)
    return SelfTestOrder(**vars(parser.parse_args(argv)))


def _say(sentence: str) -> None:
    print(sentence, flush=True)


def main() -> None:
    """The command of the chart's test."""
    try:
        asyncio.run(run(read(sys.argv[1:])))
    except OperatorError as error:
        raise SystemExit(f"error: {error.message}") from error


if __name__ == "__main__":
    main()
