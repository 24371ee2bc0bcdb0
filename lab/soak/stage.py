"""Everything that runs beside the operator: a real control plane without nodes, and who plays the pods."""

import asyncio
import os
import pathlib
import signal
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from dataclasses import dataclass

from hack.cluster import binaries
from tests.wire.api import Api, connected
from tests.wire.install import install, operator_kubeconfig
from tests.wire.operator import OperatorProcess
from tests.wire.server import api_server, running

from lab.scale.audit import Audit
from lab.scale.fleet import NAMESPACE
from lab.scale.stage import pid_of
from lab.soak.deployments_maker import DeploymentsMaker

_ROOT = pathlib.Path(__file__).parents[2]
_CONTROLLERS = "deployment-controller,replicaset-controller,garbage-collector-controller"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """What the soak works with. stop: sends the API server a signal."""

    api: Api
    operator: OperatorProcess
    audit: Audit
    stop: Callable[[signal.Signals], None]


@asynccontextmanager
async def stage(folder: pathlib.Path, services: int) -> AsyncIterator[Stage]:
    """For the length of the block; the operator runs, there is no service yet, and pods of so many can be asked."""
    audit = Audit(folder)
    with ExitStack() as programs:
        admin = programs.enter_context(api_server(folder, *audit.flags()))
        async with AsyncExitStack() as stack:
            api = await stack.enter_async_context(connected(admin))
            await install(api)
            await api.create_namespace(NAMESPACE)
            programs.enter_context(running(_controllers(admin), folder / "controllers.log"))
            programs.enter_context(running(_engines(services), folder / "engines.log"))
            own = await operator_kubeconfig(api, admin, folder / "operator.kubeconfig")
            operator = await stack.enter_async_context(OperatorProcess(own, NAMESPACE, folder))
            playing = asyncio.create_task(DeploymentsMaker(api, NAMESPACE).keep())
            stack.callback(playing.cancel)
            server = pid_of("kube-apiserver", folder)
            yield Stage(api=api, operator=operator, audit=audit, stop=lambda number: os.kill(server, number))


def _controllers(admin: pathlib.Path) -> list[str]:
    program = binaries.ensure("kube-controller-manager")["kube-controller-manager"]
    flags = (f"--kubeconfig={admin}", f"--controllers={_CONTROLLERS}", "--leader-elect=false", "--secure-port=0")
    return [str(program), *flags, "--kube-api-qps=100", "--kube-api-burst=200"]


def _engines(services: int) -> list[str]:
    path = os.pathsep.join(str(part) for part in (_ROOT, _ROOT / "operator", _ROOT / "runtime"))
    return ["env", f"PYTHONPATH={path}", sys.executable, "-m", "lab.soak.engines_standin", f"--services={services}"]
