"""Runs the kubectl that was built for the cluster, and prints how other programs reach the cluster."""

import http.client
import json
import pathlib
import shlex
import ssl
import time
from collections.abc import Sequence
from typing import Any

from hack.cluster import binaries, paths, shell
from hack.cluster.errors import ClusterError

MANAGER = "specdec-cluster"
_GRACE = 10.0
"""Seconds in which kubectl, whose own time is over, reports what was missing."""


def config() -> pathlib.Path:
    """Return the kubeconfig of the running cluster, for clients on this machine."""
    layout = paths.layout()
    if not layout.record.exists():
        raise ClusterError("no cluster is up: run `python -m hack.cluster up` (make cluster-up)")
    return layout.kubeconfig


def shell_lines() -> list[str]:
    """Lines for `eval`: after them, `kubectl` without options uses this cluster."""
    program = binaries.ensure("kubectl")["kubectl"]
    quoted, folder = shlex.quote(str(config())), shlex.quote(str(program.parent))
    return [f"export KUBECONFIG={quoted}", f"export PATH={folder}:$PATH"]


def api_ready(port: int, authority: pathlib.Path, path: str = "/readyz") -> bool:
    """Ask the API server itself, without a client program: this runs ten times a second while it starts."""
    context = ssl.create_default_context(cafile=str(authority))
    connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=5, context=context)
    try:
        connection.request("GET", path)
        return connection.getresponse().status == http.HTTPStatus.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def command(kubeconfig: pathlib.Path, *words: str) -> list[str]:
    """Prefix words for kubectl with its path and the kubeconfig."""
    program = binaries.ensure("kubectl")["kubectl"]
    # What it caches is about this cluster, and goes with it.
    caching = f"--cache-dir={kubeconfig.parent / 'kubectl-cache'}"
    return [str(program), f"--kubeconfig={kubeconfig}", caching, *words]


def ask(kubeconfig: pathlib.Path, *words: str, timeout: float = shell.PATIENCE) -> shell.CommandOutput:
    """Run kubectl and return its answer, whatever it is."""
    return shell.ask(command(kubeconfig, *words), timeout=timeout)


def run(kubeconfig: pathlib.Path, *words: str, timeout: float = shell.PATIENCE) -> str:
    """Run kubectl, which must succeed, and return what it printed. Raises ClusterError."""
    return shell.run(command(kubeconfig, *words), timeout=timeout)


def wait(kubeconfig: pathlib.Path, *words: str) -> str:
    """Run a kubectl that waits for something, such as `rollout status`, as long as the patience goes. Raises
    ClusterError with what kubectl printed.
    """
    return run(kubeconfig, *words, f"--timeout={shell.PATIENCE:.0f}s", timeout=shell.PATIENCE + _GRACE)


def get(kubeconfig: pathlib.Path, *words: str) -> dict[str, Any] | None:
    """Return what `kubectl get` finds, or nothing where it finds nothing."""
    answer = ask(kubeconfig, "get", *words, "--ignore-not-found", "-o", "json")
    if answer.code != 0:
        raise ClusterError(f"kubectl get {' '.join(words)}: {answer.err.strip()}")
    found: dict[str, Any] | None = json.loads(answer.out) if answer.out.strip() else None
    return found


def apply(kubeconfig: pathlib.Path, objects: Sequence[dict[str, Any]], scratch: pathlib.Path) -> None:
    """Server-side apply some objects; `scratch` is the file in which they can be read afterwards."""
    scratch.parent.mkdir(parents=True, exist_ok=True)
    scratch.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)}, indent=1))
    apply_files(kubeconfig, [scratch])


def apply_files(kubeconfig: pathlib.Path, files: Sequence[pathlib.Path]) -> None:
    """Server-side apply some files; client-side apply cannot carry large CRDs in its annotation.

    kubectl does not validate: for that it would read the schemas of all CRDs, which a busy API server does not have
    within 32 s. The API server itself refuses fields that it does not know in such an apply.
    """
    named = [f"--filename={file}" for file in files]
    words = ["apply", "--server-side", "--validate=false", "--force-conflicts", f"--field-manager={MANAGER}", *named]
    run(kubeconfig, *words)


def wait_established(kubeconfig: pathlib.Path, crds: Sequence[str]) -> None:
    """Wait until CRDs are served. `kubectl wait` fails on one without conditions yet, so it is repeated."""
    deadline = time.monotonic() + shell.PATIENCE
    words = ["wait", "--for=condition=Established", "--timeout=60s", *(f"crd/{name}" for name in crds)]
    while (answer := ask(kubeconfig, *words)).code != 0:
        if time.monotonic() > deadline:
            raise ClusterError(f"CRDs are not served after {shell.PATIENCE:.0f} s: {answer.err.strip()}")
        time.sleep(0.2)
