"""A real etcd and kube-apiserver on loopback, for one run of the wire tests. No node, no root."""

import os
import pathlib
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import Final

from hack.cluster import binaries, pki
from hack.cluster.kubectl import api_ready

from tests.ports import free_ports
from tests.wire.waiting import PATIENCE

_USUAL: Final = MappingProxyType[str, str]({})
SAVING: Final = MappingProxyType({"GOGC": "400", "GOMEMLIMIT": "1500MiB"})
"""Variables of an API server beside KServe. Half of what it computes while CRDs are installed is Go's collection of
garbage: this has a quarter of that, and takes 1.6 GB instead of 0.6.
"""


@contextmanager
def running(
    argv: list[str], log: pathlib.Path, variables: Mapping[str, str] = _USUAL
) -> Iterator[subprocess.Popen[bytes]]:
    """A program for the length of the block."""
    environment = os.environ | dict(variables)
    with log.open("wb") as output, subprocess.Popen(argv, env=environment, stdout=output, stderr=output) as program:
        try:
            yield program
        finally:
            program.terminate()


@contextmanager
def api_server(folder: pathlib.Path, *more: str, variables: Mapping[str, str] = _USUAL) -> Iterator[pathlib.Path]:
    """Starts both; yields the kubeconfig of an administrator. more, variables: further flags and its environment, of
    the API server.
    """
    store, peer, secure = free_ports(3)
    pki.create(folder / "pki")
    etcd, server = etcd_command(folder, store, peer), server_command(folder, store, secure, *more)
    with running(etcd, folder / "etcd.log"), running(server, folder / "apiserver.log", variables) as program:
        wait_until_ready(program, secure, folder)
        yield administrator(folder, secure)


def etcd_command(folder: pathlib.Path, store: int, peer: int) -> list[str]:
    """How etcd is started: data in the folder, at port `store` for clients."""
    return [
        str(binaries.ensure("etcd", "kube-apiserver")["etcd"]),
        f"--data-dir={folder / 'etcd'}",
        f"--listen-client-urls=http://127.0.0.1:{store}",
        f"--advertise-client-urls=http://127.0.0.1:{store}",
        f"--listen-peer-urls=http://127.0.0.1:{peer}",
        "--unsafe-no-fsync",
        "--log-level=error",
    ]


def server_command(folder: pathlib.Path, store: int, secure: int, *more: str) -> list[str]:
    """How the API server is started: keys in the folder, etcd at port `store`, itself at port `secure`."""
    keys = folder / "pki"
    return [
        str(binaries.ensure("etcd", "kube-apiserver")["kube-apiserver"]),
        f"--etcd-servers=http://127.0.0.1:{store}",
        f"--secure-port={secure}",
        "--bind-address=127.0.0.1",
        f"--tls-cert-file={keys / 'server.crt'}",
        f"--tls-private-key-file={keys / 'server.key'}",
        f"--client-ca-file={keys / 'ca.crt'}",
        f"--service-account-key-file={keys / 'accounts.pub'}",
        f"--service-account-signing-key-file={keys / 'accounts.key'}",
        "--service-account-issuer=https://kubernetes.default.svc",
        "--service-cluster-ip-range=127.64.0.0/16",  # an address for each Service of a run: a /24 is full at 254
        "--authorization-mode=RBAC",
        "--disable-admission-plugins=ServiceAccount",  # no controller makes the accounts here
        *more,
    ]


def administrator(folder: pathlib.Path, secure: int) -> pathlib.Path:
    """Writes the kubeconfig of an administrator into the folder; returns its path."""
    target = folder / "kubeconfig"
    pki.write_kubeconfig(target, server=f"https://127.0.0.1:{secure}", pki=folder / "pki", who="admin")
    return target


def wait_until_ready(program: subprocess.Popen[bytes], port: int, folder: pathlib.Path) -> None:
    """Waits until the API server serves. Raises RuntimeError with the end of its log if it does not."""
    log, deadline = folder / "apiserver.log", time.monotonic() + PATIENCE
    while not api_ready(port, folder / "pki" / "ca.crt"):
        if program.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(f"kube-apiserver does not serve; its log ends: {log.read_text()[-2000:]}")
        time.sleep(0.1)
