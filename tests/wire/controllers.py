"""The real controllers of Kubernetes and the real KServe next to a test's API server: they make the pods of a service.

There is no kubelet and no scheduler: pods stay Pending until a test sets their status.
"""

import http.client
import os
import pathlib
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Final

import yaml
from hack.cluster import binaries, kubectl
from hack.cluster.versions import KSERVE
from hack.kserve import module
from hack.kserve.controller import KServeController, Ports
from hack.kserve.versions import KServeChoice

from tests.ports import free_ports
from tests.wire.server import SAVING, api_server
from tests.wire.waiting import PATIENCE

CONTROLLERS: Final = (
    "deployment-controller",
    "replicaset-controller",
    "garbage-collector-controller",
    "namespace-controller",
    "serviceaccount-controller",
)
"""What is between an InferenceService and its pods, and what removes both."""
_MANIFESTS: Final = pathlib.Path(__file__).parents[2] / "manifests" / "runtimes"
RUNTIMES: Final = [path for path in sorted(_MANIFESTS.glob("*.yaml")) if path.name != "kustomization.yaml"]
"""Of this project, one for each accelerator."""
IMAGE_VOLUMES: Final = "--feature-gates=ImageVolume=true"
"""As on hack.cluster. Kubernetes 1.34 has it off, and drops each image volume of a pod; from 1.35 it is on."""


@contextmanager
def kubernetes_controllers(kubeconfig: pathlib.Path, *names: str) -> Iterator[None]:
    """The kube-controller-manager with some of its controllers, CONTROLLERS where none are named."""
    folder = kubeconfig.parent
    (port,) = free_ports(1)
    words = [
        str(binaries.ensure("kube-controller-manager")["kube-controller-manager"]),
        f"--kubeconfig={kubeconfig}",
        f"--controllers={','.join(names or CONTROLLERS)}",
        "--bind-address=127.0.0.1",
        f"--secure-port={port}",
        f"--cert-dir={folder / 'controllers'}",
        "--leader-elect=false",
        "--kube-api-qps=200",  # many tests share it
        "--kube-api-burst=400",
    ]
    with _running(words, {}, folder / "controllers.log"):
        yield


@contextmanager
def cluster(folder: pathlib.Path, *more: str) -> Iterator[pathlib.Path]:
    """An API server with these controllers, KServe and this project's runtimes; yields an administrator's kubeconfig.

    more: flags of the API server.
    """
    with api_server(folder, IMAGE_VOLUMES, *more, variables=SAVING) as kubeconfig, beside(kubeconfig):
        yield kubeconfig


@contextmanager
def without_kserve(folder: pathlib.Path) -> Iterator[pathlib.Path]:
    """An API server with KServe's CRDs, and with nothing that makes anything of what is written there."""
    with api_server(folder) as kubeconfig:
        controller_of(kubeconfig).install_definitions()
        yield kubeconfig


@contextmanager
def beside(kubeconfig: pathlib.Path) -> Iterator[None]:
    """The controllers and KServe beside an API server, with this project's runtimes."""
    with kubernetes_controllers(kubeconfig), kserve(kubeconfig):
        install_runtimes(kubeconfig)
        yield


def install_runtimes(kubeconfig: pathlib.Path) -> None:
    """This project's runtimes, under the names of their manifests and under the operator's default names."""
    shipped = [yaml.safe_load(path.read_text()) for path in RUNTIMES]
    untold = [
        {**each, "metadata": {"name": f"specdec-{path.stem}"}} for path, each in zip(RUNTIMES, shipped, strict=True)
    ]
    kubectl.apply(kubeconfig, [*shipped, *untold], kubeconfig.parent / "runtimes.json")


@contextmanager
def kserve(kubeconfig: pathlib.Path, choice: KServeChoice | None = None) -> Iterator[int]:
    """KServe of a version, the default one where none is named: with its webhooks, as upstream installs it.

    Yields the number of its process.
    """
    chosen = choice or KServeChoice(version=KSERVE)
    with ExitStack() as programs:
        controller = controller_of(kubeconfig, chosen)
        log = controller.folder / "kserve.log"
        log.parent.mkdir(parents=True, exist_ok=True)

        started: list[int] = []

        def start(words: Sequence[str], environment: Mapping[str, str]) -> None:
            program = programs.enter_context(_running(words, environment, log))
            _wait_until_ready(program, controller.ports.health, log)
            started.append(program.pid)

        controller.install(start)
        yield started[0]


def controller_of(kubeconfig: pathlib.Path, choice: KServeChoice | None = None) -> KServeController:
    """KServe for an API server, not started; `install_definitions` installs its CRDs alone."""
    chosen = choice or KServeChoice(version=KSERVE)
    webhook, health, metrics = free_ports(3)
    return KServeController(
        built=module.built(chosen),
        version=chosen.version,
        kubeconfig=kubeconfig,
        inner=kubeconfig,
        folder=kubeconfig.parent / "kserve",
        ports=Ports(webhook=webhook, health=health, metrics=metrics),
    )


@contextmanager
def _running(
    words: Sequence[str], environment: Mapping[str, str], log: pathlib.Path
) -> Iterator[subprocess.Popen[bytes]]:
    with (
        log.open("wb") as output,
        subprocess.Popen(words, stdout=output, stderr=output, env=os.environ | dict(environment)) as program,
    ):
        try:
            yield program
        finally:
            program.terminate()


def _wait_until_ready(program: subprocess.Popen[bytes], port: int, log: pathlib.Path) -> None:
    deadline = time.monotonic() + PATIENCE
    while not _ready(port):
        if program.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(f"KServe does not answer; its log ends: {log.read_text()[-2000:]}")
        time.sleep(0.1)


def _ready(port: int) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=2)
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().status == http.HTTPStatus.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
