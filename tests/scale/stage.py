"""Everything that runs beside the operator, for one run with N services."""

import os
import pathlib
import signal
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass

from kubernetes.aio import client, config

from tests.scale.audit import Audit
from tests.scale.fleet import NAMESPACE, Fleet
from tests.wire.api import Api
from tests.wire.install import install, operator_kubeconfig
from tests.wire.operator import OperatorProcess
from tests.wire.server import api_server, running

_ROOT = pathlib.Path(__file__).parents[2]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """What a run works with."""

    fleet: Fleet
    operator: OperatorProcess
    apiserver: int
    audit: Audit


@asynccontextmanager
async def bench_of(size: int, folder: pathlib.Path) -> AsyncIterator[Bench]:
    """The fleet is there, and nobody has looked at it."""
    audit = Audit(folder)
    async with AsyncExitStack() as stack:
        admin = stack.enter_context(api_server(folder, *audit.flags()))
        settings = client.Configuration()
        await config.load_kube_config(str(admin), client_configuration=settings)
        connection = await stack.enter_async_context(client.ApiClient(settings))
        api = Api(connection)
        await install(api)
        await api.create_namespace(NAMESPACE)
        stack.enter_context(
            stand_in("kserve_standin_many", folder, f"--kubeconfig={admin}", f"--namespace={NAMESPACE}")
        )
        stack.enter_context(stand_in("engines_standin", folder))
        account = await operator_kubeconfig(api, admin, folder / "operator.kubeconfig")
        operator = OperatorProcess(account, NAMESPACE, folder)
        stack.push_async_callback(operator.stop, signal.SIGKILL)
        fleet = Fleet(api, size)
        await stack.enter_async_context(fleet.watched(connection))
        await fleet.apply(range(size))
        yield Bench(fleet=fleet, operator=operator, apiserver=pid_of("kube-apiserver", folder), audit=audit)


@contextmanager
def stand_in(name: str, folder: pathlib.Path, *words: str) -> Iterator[None]:
    """One of this package's programs, for the length of the block."""
    path = os.pathsep.join(str(part) for part in (_ROOT, _ROOT / "operator", _ROOT / "runtime"))
    argv = ["env", f"PYTHONPATH={path}", sys.executable, "-m", f"tests.scale.{name}", *words]
    with running(argv, folder / f"{name}.log"):
        yield


def pid_of(program: str, folder: pathlib.Path) -> int:
    """The process of this program that was started with this folder."""
    for each in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = each.read_bytes().decode().split("\0")
        except OSError:
            continue
        if words[0].endswith(program) and any(str(folder) in word for word in words):
            return int(each.parent.name)
    raise LookupError(f"no {program} of {folder}")
