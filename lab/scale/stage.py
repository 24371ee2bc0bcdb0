"""Everything that runs beside the operator, for one run with N services."""

import os
import pathlib
import signal
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass

from kubernetes.aio import client, config
from tests.wire.api import Api
from tests.wire.install import install, operator_kubeconfig
from tests.wire.operator import OperatorProcess
from tests.wire.server import api_server, running
from tests.wire.test_leader import let_elect

from lab.scale.audit import Audit
from lab.scale.fleet import NAMESPACE, Fleet

_ROOT = pathlib.Path(__file__).parents[2]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """What a run works with. operators: one, or one for each shard."""

    fleet: Fleet
    operators: tuple[OperatorProcess, ...]
    apiserver: int
    audit: Audit

    @property
    def operator(self) -> OperatorProcess:
        """The one operator."""
        (found,) = self.operators
        return found


@asynccontextmanager
async def bench_of(size: int, folder: pathlib.Path, *, shards: int = 1, namespaces: int = 1) -> AsyncIterator[Bench]:
    """The fleet exists, and no operator has read it. namespaces: the services are spread over so many."""
    audit = Audit(folder)
    async with AsyncExitStack() as stack:
        admin = stack.enter_context(api_server(folder, *audit.flags()))
        settings = client.Configuration()
        await config.load_kube_config(str(admin), client_configuration=settings)
        connection = await stack.enter_async_context(client.ApiClient(settings))
        api = Api(connection)
        await install(api)
        names = (NAMESPACE, *(f"{NAMESPACE}-{number}" for number in range(1, namespaces)))
        for each in names:
            await api.create_namespace(each)
        stack.enter_context(beside("deployments_maker", folder, f"--kubeconfig={admin}"))
        stack.enter_context(beside("engines_standin", folder))
        account = await operator_kubeconfig(api, admin, folder / "operator.kubeconfig")
        told = {"SPECDEC_SHARDS": str(shards), "SPECDEC_LEADER_LEASE": f"{NAMESPACE}/specdec-operator"}
        await let_elect(api, NAMESPACE)
        watched, more = (NAMESPACE if namespaces == 1 else ""), (told if shards > 1 else None)
        operators = tuple(
            OperatorProcess(account, watched, folder, name=f"operator-{number}", environment=more)
            for number in range(shards)
        )
        for operator in operators:
            stack.push_async_callback(operator.stop, signal.SIGKILL)
        fleet = Fleet(api, size, names)
        await stack.enter_async_context(fleet.watched(connection))
        await fleet.apply(range(size))
        yield Bench(fleet=fleet, operators=operators, apiserver=pid_of("kube-apiserver", folder), audit=audit)


@contextmanager
def beside(name: str, folder: pathlib.Path, *words: str) -> Iterator[None]:
    """One of this package's programs, for the length of the block."""
    path = os.pathsep.join(str(part) for part in (_ROOT, _ROOT / "operator", _ROOT / "runtime"))
    argv = ["env", f"PYTHONPATH={path}", sys.executable, "-m", f"lab.scale.{name}", *words]
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
