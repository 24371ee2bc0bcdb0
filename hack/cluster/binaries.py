"""Builds the cluster's programs from the Go module proxy, once for each set of pins.

It never installs Go and never writes into the tree (`-mod=readonly`)."""

import fcntl
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from hack.cluster import paths, versions
from hack.cluster.errors import ClusterError

_HERE = pathlib.Path(__file__).parent


@dataclass(frozen=True, slots=True, kw_only=True)
class Module:
    """One Go module: the programs whose dependencies are chosen together."""

    root: pathlib.Path
    packages: Mapping[str, str]
    flags: str

    def folder(self) -> pathlib.Path:
        """The folder of the programs made from the present pins."""
        return paths.cache() / "bin" / self.fingerprint()

    def fingerprint(self) -> str:
        """Change when, and only when, another build could come out."""
        digest = hashlib.sha256()
        for file in (self.root / "go.mod", self.root / "go.sum", *sorted(self.root.rglob("*.go"))):
            digest.update(file.read_bytes())
        digest.update(self.flags.encode())
        return digest.hexdigest()[:12]


KUBERNETES = Module(
    root=_HERE / "go",
    packages={
        "etcd": "go.etcd.io/etcd/server/v3",
        "kube-apiserver": "k8s.io/kubernetes/cmd/kube-apiserver",
        "kube-controller-manager": "k8s.io/kubernetes/cmd/kube-controller-manager",
        "kube-scheduler": "k8s.io/kubernetes/cmd/kube-scheduler",
        "kube-proxy": "k8s.io/kubernetes/cmd/kube-proxy",
        "kubelet": "k8s.io/kubernetes/cmd/kubelet",
        "kubectl": "k8s.io/kubernetes/cmd/kubectl",
        "pause": "./pause",
    },
    flags=versions.linker_flags(versions.KUBERNETES_STAMPS),
)
CONTAINERD = Module(
    root=_HERE / "go-containerd",
    packages={
        "containerd": "github.com/containerd/containerd/v2/cmd/containerd",
        "containerd-shim-runc-v2": "github.com/containerd/containerd/v2/cmd/containerd-shim-runc-v2",
        "ctr": "github.com/containerd/containerd/v2/cmd/ctr",
    },
    flags=versions.linker_flags(versions.CONTAINERD_STAMPS),
)
METRICS = Module(
    root=_HERE / "go-metrics",
    packages={"metrics-server": "sigs.k8s.io/metrics-server/cmd/metrics-server"},
    flags=versions.linker_flags(versions.METRICS_SERVER_STAMPS),
)
"""Built when it is asked for, and no part of what every cluster runs."""
_MODULES = {name: module for module in (KUBERNETES, CONTAINERD) for name in module.packages}
PROGRAMS = tuple(_MODULES)


def ensure(*names: str, say: Callable[[str], None] = print) -> dict[str, pathlib.Path]:
    """Return the path of each program, after building those that are missing."""
    unknown = sorted(set(names) - set(PROGRAMS))
    if unknown:
        raise ClusterError(f"no recipe for {', '.join(unknown)}; there is one for {', '.join(PROGRAMS)}")
    for module in (KUBERNETES, CONTAINERD):
        ensure_from(module, *(name for name in names if name in module.packages), say=say)
    return {name: path(name) for name in names}


def ensure_from(module: Module, *names: str, say: Callable[[str], None] = print) -> dict[str, pathlib.Path]:
    """The same for programs of any module; two callers build one of them once. Raises ClusterError with Go's output."""
    if _missing(module, names):
        with locked(module.folder()):
            for name in _missing(module, names):
                package = module.packages[name]
                say(f"building {name} ({package})")
                compiled(package, module.folder() / name, root=module.root, flags=module.flags, say=say)
    return {name: module.folder() / name for name in names}


def path(name: str) -> pathlib.Path:
    """The path of a program, built or not."""
    return _MODULES[name].folder() / name


def fingerprint() -> str:
    """Change when, and only when, any program of the cluster could come out different."""
    return hashlib.sha256(f"{KUBERNETES.fingerprint()} {CONTAINERD.fingerprint()}".encode()).hexdigest()[:12]


def go_version(text: str) -> tuple[int, int] | None:
    """Read `go1.26.8` or `go1.24rc1` as (major, minor)."""
    found = re.match(r"go(\d+)\.(\d+)", text)
    return (int(found[1]), int(found[2])) if found else None


def _missing(module: Module, names: Iterable[str]) -> list[str]:
    return [name for name in names if not (module.folder() / name).exists()]


@contextmanager
def locked(folder: pathlib.Path) -> Iterator[None]:
    """Keep two callers from building the same programs; the lock goes with the process that holds it."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def compiled(package: str, target: pathlib.Path, *, root: pathlib.Path, flags: str, say: Callable[[str], None]) -> None:
    """Build a program, whole or not at all. root: the folder of its go.mod. Raises ClusterError with Go's output."""
    require_go()
    started = time.monotonic()
    unfinished = target.with_suffix(".unfinished")
    outcome = subprocess.run(
        ["go", "build", "-mod=readonly", "-trimpath", f"-ldflags={flags}", "-o", str(unfinished), package],
        cwd=root,
        env=os.environ | {"CGO_ENABLED": "0"},
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    if outcome.returncode != 0:
        last = "\n".join(outcome.stderr.splitlines()[-10:])
        raise ClusterError(f"go build {package} failed in {root}:\n{last}")
    unfinished.rename(target)
    say(f"built {target.name} in {time.monotonic() - started:.0f} s")


def require_go() -> None:
    """Raises ClusterError with one sentence if Go is missing or too old."""
    wanted = ".".join(str(part) for part in versions.GO_MINIMUM)
    if shutil.which("go") is None:
        raise ClusterError(
            f"the local cluster is built from source and needs Go >= {wanted} on PATH: no `go` was found"
        )
    asked = subprocess.run(["go", "env", "GOVERSION"], cwd=KUBERNETES.root, capture_output=True, text=True, check=False)
    found = go_version(asked.stdout.strip())
    if found is None or found < versions.GO_MINIMUM:
        words = asked.stdout.strip() or asked.stderr.strip() or "an unknown version"
        raise ClusterError(
            f"the local cluster is built from source and needs Go >= {wanted} on PATH: `go` says {words}"
        )
