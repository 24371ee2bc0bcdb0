"""Flux's source-controller and kustomize-controller as processes on loopback, for one namespace."""

import asyncio
import json
import pathlib
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from typing import Any, Final

import yaml
from hack.cluster import shell
from hack.gitops import programs

from tests.gitops.built import needed
from tests.gitops.git import Repository
from tests.ports import free_ports
from tests.wire.api import Api, Object
from tests.wire.install import put_definition
from tests.wire.server import running

GIT: Final = ("source.toolkit.fluxcd.io/v1", "gitrepositories")
KUSTOMIZATION: Final = ("kustomize.toolkit.fluxcd.io/v1", "kustomizations")
NAME: Final = "fleet"
_ASKED: Final = "reconcile.fluxcd.io/requestedAt"
_CONTROLLERS: Final = ("github.com/fluxcd/kustomize-controller", "github.com/fluxcd/source-controller")
_SECONDS: Final = 600.0
_HOUR: Final = "1h"
"""Nothing happens by itself: the tests ask for each reconciliation."""


async def install_crds(api: Api) -> None:
    """Flux's CRDs, out of the modules of its controllers."""
    for file in _crds():
        await put_definition(api, yaml.safe_load(file.read_text()))


def _crds() -> tuple[pathlib.Path, ...]:
    """Flux's CRDs, out of the modules that its controllers are built from. Raises ClusterError with Go's output."""
    found: list[pathlib.Path] = []
    for controller in _CONTROLLERS:
        told = shell.run(["go", f"-C={programs.FLUX.root}", "mod", "download", "-json", controller], timeout=_SECONDS)
        found += sorted(pathlib.Path(json.loads(told)["Dir"], "config", "crd", "bases").glob("*.yaml"))
    return tuple(found)


@contextmanager
def controllers(kubeconfig: pathlib.Path, namespace: str, folder: pathlib.Path) -> Iterator[pathlib.Path]:
    """Both of them, for the length of the block; yields the folder of their logs."""
    storage, *ports = free_ports(5)
    flags = {
        "source-controller": (
            f"--storage-path={folder}",
            f"--storage-addr=127.0.0.1:{storage}",
            f"--storage-adv-addr=127.0.0.1:{storage}",
        ),
        "kustomize-controller": ("--requeue-dependency=1s",),
    }
    with ExitStack() as stack:
        for name, own in flags.items():
            common = (
                f"--metrics-addr=127.0.0.1:{ports.pop()}",
                f"--health-addr=127.0.0.1:{ports.pop()}",
                "--watch-all-namespaces=false",
                "--log-level=info",
            )
            environment = [f"KUBECONFIG={kubeconfig}", f"RUNTIME_NAMESPACE={namespace}", f"TMPDIR={folder}"]
            program = needed(programs.FLUX, name)
            argv = ["env", *environment, str(program), *common, *own]
            stack.enter_context(running(argv, folder / f"{name}.log"))
        yield folder


class Flux:
    """A Kustomization of a repository, and its status."""

    def __init__(self, api: Api, namespace: str, repository: Repository) -> None:
        self.repository = repository
        self._api = api
        self._namespace = namespace
        self._asked = 0

    async def begin(self, **spec: Any) -> None:
        """Makes the GitRepository and the Kustomization; `spec` is the latter's."""
        await self._apply(GIT, "GitRepository", {"url": self.repository.url, "ref": {"branch": "main"}})
        known = {"path": "./", "prune": True, "wait": True, "timeout": "30s", "retryInterval": "1s"}
        source = {"kind": "GitRepository", "name": NAME}
        await self._apply(KUSTOMIZATION, "Kustomization", known | {"sourceRef": source} | spec)

    async def _apply(self, kind: tuple[str, str], word: str, spec: Object) -> None:
        meta = {"name": NAME}
        body = {"apiVersion": kind[0], "kind": word, "metadata": meta, "spec": {"interval": _HOUR} | spec}
        await self._api.apply(kind, self._namespace, body)

    async def ask(self) -> str:
        """Asks for another look at Git and at the cluster; returns the word by which the answer is known."""
        self._asked += 1
        word = str(self._asked)
        for kind in (GIT, KUSTOMIZATION):
            await self._api.merge(kind, self._namespace, NAME, {"metadata": {"annotations": {_ASKED: word}}})
            if kind is GIT:
                await self._until(f"Git is read again ({word})", GIT, lambda status: handled(status) == word)
        return word

    async def reconciled(self, revision: str, seconds: float = 60.0) -> Object:
        """Asks for a look and waits until it is over; returns the condition Ready."""
        word = await self.ask()

        def over(status: Object) -> bool:
            seen = status.get("lastAttemptedRevision", "").endswith(revision)
            return handled(status) == word and seen and ready(status)["status"] != "Unknown"

        return ready(await self._until(f"reconciliation {word} of {revision}", KUSTOMIZATION, over, seconds))

    async def waits(self) -> Object:
        """Waits until it checks the health of what it applied; returns the condition Ready."""
        return ready(await self._until("health checks", KUSTOMIZATION, lambda status: "health" in words(status)))

    async def status(self) -> Object:
        """The status of the Kustomization."""
        found = await self._api.get(KUSTOMIZATION, self._namespace, NAME)
        return (found or {}).get("status", {})

    async def ready(self, wanted: str) -> Object:
        """Waits for Ready to be `wanted`; returns the condition."""
        return ready(await self._until(f"Ready={wanted}", KUSTOMIZATION, lambda said: ready(said)["status"] == wanted))

    async def reason(self, wanted: str) -> Object:
        """Waits for the reason of Ready to be `wanted`; returns the condition."""
        return ready(await self._until(wanted, KUSTOMIZATION, lambda said: ready(said)["reason"] == wanted))

    async def _until(self, what: str, kind: tuple[str, str], true: Any, seconds: float = 60.0) -> Object:
        deadline = time.monotonic() + seconds
        while True:
            status: Object = ((await self._api.get(kind, self._namespace, NAME)) or {}).get("status", {})
            if true(status):
                return status
            if time.monotonic() > deadline:
                raise AssertionError(f"Flux: {what}: not within {seconds:.0f} s: {status}")
            await asyncio.sleep(0.05)

    async def end(self) -> None:
        """Takes the finalizers away, so that no dead controller keeps the namespace."""
        for kind in (KUSTOMIZATION, GIT):
            if await self._api.get(kind, self._namespace, NAME):
                await self._api.merge(kind, self._namespace, NAME, {"metadata": {"finalizers": None}})
                await self._api.delete(kind, self._namespace, NAME)


def handled(status: Object) -> str:
    """The word of the last request that Flux has answered."""
    return str(status.get("lastHandledReconcileAt", ""))


def ready(status: Object) -> Object:
    """The condition Ready."""
    found = [each for each in status.get("conditions", ()) if each["type"] == "Ready"]
    return found[0] if found else {"status": "Unknown", "reason": "", "message": ""}


def words(status: Object) -> str:
    """The message of the condition Reconciling, in lower case."""
    return " ".join(each["message"] for each in status.get("conditions", ()) if each["type"] == "Reconciling").lower()


@asynccontextmanager
async def flux(
    api: Api, kubeconfig: pathlib.Path, namespace: str, repository: Repository, folder: pathlib.Path
) -> AsyncIterator[Flux]:
    """Flux in a namespace."""
    await install_crds(api)
    made = Flux(api, namespace, repository)
    with controllers(kubeconfig, namespace, folder):
        yield made
    await made.end()
