"""What `helm test` runs: a sample sis is applied, seen by the operator, made into an InferenceService, and deleted."""

import argparse
import asyncio
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from specdec_operator import names
from specdec_operator.errand import Errand, services_path, until
from specdec_operator.errors import OperatorError, Unavailable

_GONE_SECONDS: Final = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What to apply, and how long to wait for it. spec: of the sis. ready: wait until it serves. wait: seconds."""

    namespace: str
    name: str
    spec: dict[str, Any]
    ready: bool
    wait: float


def missing(sis: dict[str, Any] | None, child: dict[str, Any] | None, *, ready: bool) -> str:
    """What is not there yet, in words; empty where nothing is missing. Raises Unavailable where it never will be."""
    if sis is None:
        raise Unavailable("Gone", "the sample was deleted by somebody else")
    status = sis.get("status") or {}
    if status.get("observedGeneration") != sis["metadata"]["generation"]:
        return "the operator has not looked at the sample yet: is its pod Ready, and does it watch this namespace?"
    said = {each["type"]: each for each in status.get("conditions", [])}
    told = "; ".join(f"{kind}={each['status']} ({each['reason']}) {each['message']}" for kind, each in said.items())
    if said.get("Stalled", {}).get("status") == "True":
        raise Unavailable("Stalled", f"the sample cannot run: {told}")
    owners = (child or {}).get("metadata", {}).get("ownerReferences", [])
    if not any(each["uid"] == sis["metadata"]["uid"] for each in owners):
        return f"there is no InferenceService of it yet: {told}"
    if ready and said.get("Ready", {}).get("status") != "True":
        return f"it is not Ready yet: {told}"
    return ""


async def run(errand: Errand, order: Order) -> None:
    """Applies, waits, deletes. Raises Unavailable in words."""
    path = services_path(order.namespace, order.name)
    await remove(errand, path)
    await errand.create(
        services_path(order.namespace),
        {
            "apiVersion": names.API_VERSION,
            "kind": names.KIND,
            "metadata": {"name": order.name, "namespace": order.namespace},
            "spec": order.spec,
        },
    )
    _say(f"{order.namespace}/{order.name} is applied")
    try:
        await _arrived(errand, path, order)
    finally:
        await remove(errand, path)
    _say("it is deleted again")


async def _arrived(errand: Errand, path: str, order: Order) -> None:
    group = f"/apis/{names.KSERVE_GROUP}/{names.KSERVE_VERSION}"
    child = f"{group}/namespaces/{order.namespace}/inferenceservices/{order.name}"

    async def left() -> str:
        return missing(await errand.get(path), await errand.get(child), ready=order.ready)

    if still := await until(left, order.wait):
        raise Unavailable("TooSlow", f"after {order.wait:.0f} s: {still}")
    _say("the operator has seen it and made its InferenceService" + (", which is Ready" if order.ready else ""))


async def remove(errand: Errand, path: str) -> None:
    """Deletes the sample and waits until it is gone. Raises Unavailable where it stays."""
    await errand.delete(path)

    async def left() -> str:
        found = await errand.get(path)
        return "" if found is None else f"finalizers {found['metadata'].get('finalizers', [])}"

    if still := await until(left, _GONE_SECONDS):
        raise Unavailable("StillThere", f"{path}: not gone {_GONE_SECONDS:.0f} s after its deletion: {still}")


def read(argv: Sequence[str]) -> Order:
    """The order of a command line."""
    parser = argparse.ArgumentParser(prog="specdec_operator.selftest", description=__doc__)
    parser.add_argument("--namespace", required=True)
    parser.add_argument("--name", required=True)
    parser.add_argument("--spec", required=True, type=json.loads, help="the sample's spec, as JSON")
    parser.add_argument("--ready", action="store_true", help="wait until it serves")
    parser.add_argument("--wait", type=float, default=120.0)
    found = parser.parse_args(argv)
    return Order(namespace=found.namespace, name=found.name, spec=found.spec, ready=found.ready, wait=found.wait)


async def _main(order: Order) -> None:
    errand = await Errand.connect()
    try:
        await run(errand, order)
    finally:
        await errand.close()


def _say(sentence: str) -> None:
    print(sentence, flush=True)


def main() -> None:
    """The command of the chart's test."""
    try:
        asyncio.run(_main(read(sys.argv[1:])))
    except OperatorError as error:
        raise SystemExit(f"error: {error.message}") from error


if __name__ == "__main__":
    main()
