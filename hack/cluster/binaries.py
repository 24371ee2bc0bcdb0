"""Builds the Kubernetes programs from the Go module proxy, once for each set of pins.

It never installs Go and never writes into the tree (`-mod=readonly`)."""

import fcntl
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from hack.cluster import paths, versions
from hack.cluster.errors import ClusterError

MODULE = pathlib.Path(__file__).parent / "go"
PACKAGES = {
    "etcd": "go.etcd.io/etcd/server/v3",
    "kube-apiserver": "k8s.io/kubernetes/cmd/kube-apiserver",
    "kube-controller-manager": "k8s.io/kubernetes/cmd/kube-controller-manager",
    "kube-scheduler": "k8s.io/kubernetes/cmd/kube-scheduler",
    "kube-proxy": "k8s.io/kubernetes/cmd/kube-proxy",
    "kubelet": "k8s.io/kubernetes/cmd/kubelet",
    "kubectl": "k8s.io/kubernetes/cmd/kubectl",
    "pause": "./pause",
}


def ensure(*names: str, say: Callable[[str], None] = print) -> dict[str, pathlib.Path]:
    """Return the path of each program, after building those that are missing."""
    unknown = sorted(set(names) - set(PACKAGES))
    if unknown:
        raise ClusterError(f"no recipe for {', '.join(unknown)}; there is one for {', '.join(PACKAGES)}")
    built = {name: folder() / name for name in names}
    if not _missing(built):
        return built
    with _locked():
        for name, target in _missing(built).items():
            _build(name, target, say)
    return built


def folder() -> pathlib.Path:
    """The folder of the programs made from the present pins."""
    return paths.cache() / "bin" / fingerprint()


def fingerprint() -> str:
    """Change when, and only when, another build could come out."""
    digest = hashlib.sha256()
    for file in (MODULE / "go.mod", MODULE / "go.sum", MODULE / "pause" / "main.go"):
        digest.update(file.read_bytes())
    digest.update(versions.linker_flags().encode())
    return digest.hexdigest()[:12]


def go_version(text: str) -> tuple[int, int] | None:
    """Read `go1.26.8` or `go1.24rc1` as (major, minor)."""
    found = re.match(r"go(\d+)\.(\d+)", text)
    return (int(found[1]), int(found[2])) if found else None


def _missing(built: dict[str, pathlib.Path]) -> dict[str, pathlib.Path]:
    return {name: target for name, target in built.items() if not target.exists()}


@contextmanager
def _locked() -> Iterator[None]:
    """Keep two callers from building the same program; the lock goes with the process that holds it."""
    folder().mkdir(parents=True, exist_ok=True)
    with (folder() / ".lock").open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _build(name: str, target: pathlib.Path, say: Callable[[str], None]) -> None:
    require_go()
    say(f"building {name} ({PACKAGES[name]})")
    started = time.monotonic()
    unfinished = target.with_suffix(".unfinished")
    flags = ["-mod=readonly", "-trimpath", f"-ldflags={versions.linker_flags()}"]
    outcome = subprocess.run(
        ["go", "build", *flags, "-o", str(unfinished), PACKAGES[name]],
        cwd=MODULE,
        env=os.environ | {"CGO_ENABLED": "0"},
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    if outcome.returncode != 0:
        last = "\n".join(outcome.stderr.splitlines()[-10:])
        raise ClusterError(f"go build {PACKAGES[name]} failed in {MODULE}:\n{last}")
    unfinished.rename(target)
    say(f"built {name} in {time.monotonic() - started:.0f} s")


def require_go() -> None:
    """Say in one sentence that Go is missing or too old."""
    wanted = ".".join(str(part) for part in versions.GO_MINIMUM)
    if shutil.which("go") is None:
        raise ClusterError(
            f"the local cluster is built from source and needs Go >= {wanted} on PATH: no `go` was found"
        )
    asked = subprocess.run(["go", "env", "GOVERSION"], cwd=MODULE, capture_output=True, text=True, check=False)
    found = go_version(asked.stdout.strip())
    if found is None or found < versions.GO_MINIMUM:
        words = asked.stdout.strip() or asked.stderr.strip() or "an unknown version"
        raise ClusterError(
            f"the local cluster is built from source and needs Go >= {wanted} on PATH: `go` says {words}"
        )
