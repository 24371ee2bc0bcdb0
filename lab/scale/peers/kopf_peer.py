"""The plain kopf operator with the same services, pods and pages of metrics that ours has."""

import pathlib
import sys
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager

from tests.wire.api import SIS, Object

from lab.scale.engines_standin import PORT, AnswerKind, kind_of
from lab.scale.fleet import Fleet, name_of
from lab.scale.peers.site import NAMESPACE, Site
from lab.scale.peers.started import Peer, stand, started, until
from lab.scale.stage import beside

_FILE = pathlib.Path(__file__).with_name("plain_kopf.py")


def command(namespace: str) -> list[str]:
    """As its user starts it."""
    return [sys.executable, "-m", "kopf", "run", "--standalone", f"--namespace={namespace}", str(_FILE)]


@asynccontextmanager
async def plain_kopf(site: Site, services: int) -> AsyncIterator[Peer]:
    """The operator for the length of the block, from when the counters of every pod that is well were read."""
    log = site.folder / "plain_kopf.log"
    await Fleet(site.api, services).apply(range(services))
    with ExitStack() as programs:
        programs.enter_context(beside("deployments_maker", site.folder, f"--kubeconfig={site.admin}"))
        programs.enter_context(beside("engines_standin", site.folder))
        pid = programs.enter_context(started(command(NAMESPACE), log, KUBECONFIG=str(site.own)))

        async def run() -> bool:
            told = [each["metadata"]["name"] for each in await site.api.items(SIS, NAMESPACE) if _is_read(each)]
            return {name_of(number) for number in range(services) if kind_of(number) is AnswerKind.WELL} <= set(told)

        async def read() -> int:
            return (await stand(PORT))["asked"]

        await until("every service of a pod that is well has its acceptance", run, log)
        yield Peer(pid=pid, read=read)


def _is_read(service: Object) -> bool:
    return "rate" in service.get("status", {}).get("acceptance", {})
