"""What the real KServe takes for many services: `python -m lab.scale.kserve_cost --services 1000 --out FILE`.

`bench-scale` has a maker of Deployments in place of KServe, because KServe's own cost would hide the operator's. This
is that cost: KServe with its webhooks and kube-controller-manager beside an API server, without operator and kubelet.
"""

import argparse
import asyncio
import json
import pathlib
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass
from typing import Final

from hack.cluster.versions import KSERVE
from hack.machine import origin
from tests.wire.api import APPLY, DEPLOYMENT, ISVC, Api, Object, connected, documents
from tests.wire.controllers import kserve, kubernetes_controllers
from tests.wire.server import api_server
from tests.wire.waiting import until

from lab.scale.fleet import NAMESPACE, name_of, sis_of
from lab.scale.process import taken
from specdec_operator.api.spec import Owner, Spec
from specdec_operator.guard.state import Phase, State
from specdec_operator.render.inference_service import render
from specdec_operator.render.plan import plan

_RUNTIME: Final = pathlib.Path(__file__).parents[2] / "manifests" / "runtimes" / "cpu.yaml"
_RUNTIMES: Final = "/apis/serving.kserve.io/v1alpha1/clusterservingruntimes"
_AT_ONCE: Final = 16
_IDLE_SECONDS: Final = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """Of one step: seconds until each Deployment was as asked, CPU seconds of KServe's process, its MiB afterwards."""

    seconds: float
    cpu: float
    rss: float


def wanted(number: int, *, seqs: int) -> Object:
    """The InferenceService of a service of the fleet, as the operator renders it. seqs: one of its flags."""
    body = sis_of(number, max_num_seqs=seqs)
    owner = Owner(name=name_of(number), namespace=NAMESPACE, uid=f"u-{number}")
    state = State(phase=Phase.WATCHING, since=0.0, speculation="")
    made: Object = render(plan(Spec.model_validate(body["spec"]), state, name=owner.name), owner).manifest
    made["metadata"].pop("ownerReferences", None)  # of a service that is not there: it would be collected
    return made


async def apply(api: Api, services: int, seqs: int) -> None:
    """Apply all, some at once, and wait until every Deployment has the flag."""
    places = asyncio.Semaphore(_AT_ONCE)

    async def one(number: int) -> None:
        async with places:
            await api.apply(ISVC, NAMESPACE, wanted(number, seqs=seqs), "specdec")

    await asyncio.gather(*(one(number) for number in range(services)))

    async def made() -> bool:
        found = await api.items(DEPLOYMENT, NAMESPACE)
        return sum(f"--max-num-seqs={seqs}" in json.dumps(each) for each in found) == services

    await until(f"{services} Deployments", made, patience=3600)


async def step(pid: int, act: Callable[[], Awaitable[object]]) -> Cost:
    """What an act costs KServe."""
    before, begun = taken(pid), time.monotonic()
    await act()
    after = taken(pid)
    return Cost(
        seconds=round(time.monotonic() - begun, 1), cpu=round(after.cpu - before.cpu, 1), rss=round(after.rss, 0)
    )


async def measure(services: int, kubeconfig: pathlib.Path, pid: int) -> dict[str, Cost]:
    """The steps, in the order in which they follow each other."""
    async with connected(kubeconfig) as api:
        await api.create_namespace(NAMESPACE)
        (runtime,) = documents(_RUNTIME.read_text())
        runtime["metadata"]["name"] = wanted(0, seqs=64)["spec"]["predictor"]["model"]["runtime"]
        path = f"{_RUNTIMES}/{runtime['metadata']['name']}"
        await api.call("patch", path, runtime, content_type=APPLY, field_manager="scale")
        return {
            "made": await step(pid, lambda: apply(api, services, 64)),
            "idle": await step(pid, lambda: asyncio.sleep(_IDLE_SECONDS)),
            "changed": await step(pid, lambda: apply(api, services, 32)),
        }


def main() -> None:
    """Measure, print, and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--services", type=int, default=1000)
    parser.add_argument("--out", type=pathlib.Path)
    found = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as folder,
        api_server(pathlib.Path(folder)) as kubeconfig,
        kubernetes_controllers(kubeconfig),
        kserve(kubeconfig) as pid,
    ):
        costs = asyncio.run(measure(found.services, kubeconfig, pid))
    made = {name: asdict(cost) for name, cost in costs.items()}
    text = json.dumps({"services": found.services, "kserve": KSERVE, **made, "origin": origin()}, indent=1)
    print(text)
    if found.out:
        found.out.write_text(f"{text}\n")


if __name__ == "__main__":
    main()
