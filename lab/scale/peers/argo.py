"""Argo Rollouts' controller with one AnalysisRun for each service: a web metric that is due every 15 s.

Built from the public module proxy; its CRDs are those of the module. It runs as its own manifests run it, except that
leader election is off, because it would add one more writer.
"""

import json
import pathlib
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack, asynccontextmanager
from typing import Final

from hack.cluster import binaries, shell
from hack.cluster.binaries import Module
from tests.ports import free_ports
from tests.wire.api import Object
from tests.wire.install import install

from lab.scale.peers.pages_standin import ACCEPTANCE
from lab.scale.peers.site import NAMESPACE, Site
from lab.scale.peers.started import INTERVAL, Peer, at_once, stand, started, until
from lab.scale.stage import beside

RUN = "argoproj.io/v1alpha1", "analysisruns"
RAISED: Final = ("--qps=1000", "--burst=2000")
"""Beyond what it needs here; by itself it limits itself to 40 requests a second."""
_PROGRAM: Final = "rollouts-controller"
_SOURCE: Final = "github.com/argoproj/argo-rollouts"
_MODULE: Final = Module(
    root=pathlib.Path(__file__).parent / "go-argo-rollouts",
    packages={_PROGRAM: f"{_SOURCE}/cmd/{_PROGRAM}"},
    flags="-s -w",
)
_SECONDS: Final = 600.0


def controller(say: Callable[[str], None] = print) -> pathlib.Path:
    """The program, which is built if it is missing. Raises ClusterError with the end of Go's output."""
    return binaries.ensure_from(_MODULE, _PROGRAM, say=say)[_PROGRAM]


def crds() -> tuple[pathlib.Path, ...]:
    """Its CRDs, out of the module that it is built from. Raises ClusterError with Go's output."""
    told = shell.run(["go", f"-C={_MODULE.root}", "mod", "download", "-json", _SOURCE], timeout=_SECONDS)
    return tuple(sorted(pathlib.Path(json.loads(told)["Dir"], "manifests", "crds").glob("*-crd.yaml")))


def analysis_run(number: int, port: int) -> Object:
    """One of them; it never ends by itself."""
    web = {"url": f"http://127.0.0.1:{port}/runs/svc-{number}", "jsonPath": "{$.acceptance}"}
    metric = {
        "name": "acceptance",
        "interval": f"{INTERVAL:.0f}s",
        "count": 1_000_000,
        "successCondition": f"result >= {ACCEPTANCE / 2}",
        "provider": {"web": web},
    }
    return {
        "apiVersion": RUN[0],
        "kind": "AnalysisRun",
        "metadata": {"name": f"svc-{number}"},
        "spec": {"metrics": [metric]},
    }


@asynccontextmanager
async def argo(site: Site, services: int, *flags: str) -> AsyncIterator[Peer]:
    """The controller for the length of the block, from when all runs are Running. flags: more of its own."""
    files, (pages, metrics, health) = crds(), free_ports(3)
    await install(site.api, files)
    await at_once(site.api.create(RUN, NAMESPACE, analysis_run(number, pages)) for number in range(services))
    own = (f"--kubeconfig={site.own}", "--leader-elect=false", f"--metricsport={metrics}", f"--healthzPort={health}")
    log = site.folder / "argo.log"
    with ExitStack() as programs:
        programs.enter_context(beside("peers.pages_standin", site.folder, f"--port={pages}"))
        pid = programs.enter_context(started([controller(), *own, *flags], log))

        async def run() -> bool:
            found = await site.api.items(RUN, NAMESPACE)
            running = all(each.get("status", {}).get("phase") == "Running" for each in found)
            return running and (await stand(pages)).get("runs") == services

        async def read() -> int:
            return (await stand(pages))["asked"]

        await until("every AnalysisRun is Running and measured", run, log)
        yield Peer(pid=pid, read=read)
