"""What `helm uninstall` runs first: stops the operator, then takes the operator's finalizer from every sis.

Without it a sis that is deleted later would wait for an operator that is gone. It deletes nothing: what serves goes on.
"""

import argparse
import asyncio
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from specdec_operator import names
from specdec_operator.errand import Changed, Errand, services_path, until
from specdec_operator.errors import OperatorError, Unavailable

_ATTEMPTS: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What to stop and where to look.

    namespaces: the watched, all where empty. leftover: a pod of `helm test`. wait: seconds for the operator to end.
    """

    namespace: str
    deployment: str
    selector: str
    namespaces: tuple[str, ...]
    leftover: str
    wait: float


def without_ours(body: dict[str, Any]) -> dict[str, Any] | None:
    """The merge patch that takes our finalizer from a sis and no other one; None where it has not ours.

    It names the version that was read, so that a finalizer of somebody else that came meanwhile is not lost.
    """
    meta = body["metadata"]
    finalizers = meta.get("finalizers") or []
    if names.FINALIZER not in finalizers:
        return None
    rest = [each for each in finalizers if each != names.FINALIZER]
    return {"metadata": {"resourceVersion": meta["resourceVersion"], "finalizers": rest}}


async def stop(errand: Errand, order: Order) -> None:
    """Scales the operator to 0 and waits until its pods are gone: it would put the finalizer back.

    Raises Unavailable where they stay.
    """
    path = f"/apis/apps/v1/namespaces/{order.namespace}/deployments/{order.deployment}/scale"
    await errand.merge(path, {"spec": {"replicas": 0}})

    async def left() -> str:
        found = await errand.get(f"/api/v1/namespaces/{order.namespace}/pods", label_selector=order.selector)
        return ", ".join(each["metadata"]["name"] for each in (found or {}).get("items", []))

    if still := await until(left, order.wait):
        raise Unavailable(
            "StillRunning",
            f"namespace {order.namespace}: still there after {order.wait:.0f} s: pods {still}: "
            "the operator must end first; delete them, then uninstall again",
        )


async def release(errand: Errand, namespaces: Sequence[str]) -> int:
    """Takes the finalizer from every sis of these namespaces, of all where none is named; returns how many had it.

    Raises Unavailable where the API server refuses.
    """
    count = 0
    for namespace in namespaces or ("",):
        found = await errand.get(services_path(namespace)) or {"items": []}  # no CRD: no sis
        for body in found["items"]:
            count += await _release(errand, body)
    return count


async def _release(errand: Errand, body: dict[str, Any]) -> bool:
    meta, now = body["metadata"], body
    path = services_path(meta["namespace"], meta["name"])
    for _ in range(_ATTEMPTS):
        patch = without_ours(now)
        if patch is None:
            return False
        try:
            await errand.merge(path, patch)
        except Changed:
            found = await errand.get(path)
            if found is None:
                return False
            now = found
        else:
            return True
    raise Unavailable("Changing", f"{meta['namespace']}/{meta['name']}: somebody changes it without end: try again")


async def run(order: Order) -> int:
    """Does both; returns how many sis had the finalizer. Raises OperatorError."""
    errand = await Errand.connect()
    try:
        await errand.delete(f"/api/v1/namespaces/{order.namespace}/pods/{order.leftover}")
        await stop(errand, order)
        print(f"the operator's pods in namespace {order.namespace} are gone", flush=True)
        return await release(errand, order.namespaces)
    finally:
        await errand.close()


def read(argv: Sequence[str]) -> Order:
    """The order of a command line."""
    parser = argparse.ArgumentParser(prog="specdec_operator.uninstall", description=__doc__)
    parser.add_argument("--namespace", required=True)
    parser.add_argument("--deployment", required=True)
    parser.add_argument("--selector", required=True)
    parser.add_argument("--watched", default="", help="comma-separated namespaces; all where empty")
    parser.add_argument("--leftover", required=True, help="a pod that is deleted, too")
    parser.add_argument("--wait", type=float, default=90.0)
    found = parser.parse_args(argv)
    return Order(
        namespace=found.namespace,
        deployment=found.deployment,
        selector=found.selector,
        namespaces=tuple(each for each in found.watched.split(",") if each),
        leftover=found.leftover,
        wait=found.wait,
    )


def main() -> None:
    """The command of the chart's pre-delete hook."""
    try:
        count = asyncio.run(run(read(sys.argv[1:])))
    except OperatorError as error:
        raise SystemExit(f"error: {error.message}") from error
    print(f"{count} services let go; they go on serving as they are, unwatched, and can be deleted")


if __name__ == "__main__":
    main()
