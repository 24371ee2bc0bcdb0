"""Builds Flux's and Argo CD's own code from the Go module proxy into the cache, once for each set of pins."""

import fcntl
import json
import os
import pathlib
import subprocess
import time
from collections.abc import Callable
from typing import Final

from hack.cluster.binaries import Module
from hack.cluster.errors import ClusterError

_HERE: Final = pathlib.Path(__file__).parent
_FLAGS: Final = "-s -w"

FLUX: Final = Module(
    root=_HERE / "go-flux",
    packages={
        "flux-judge": "./judge",
        "kustomize-controller": "github.com/fluxcd/kustomize-controller",
        "source-controller": "github.com/fluxcd/source-controller",
    },
    flags=_FLAGS,
)
ARGO: Final = Module(root=_HERE / "go-argo", packages={"argo-judge": "./judge"}, flags=_FLAGS)
_CONTROLLERS: Final = ("github.com/fluxcd/kustomize-controller", "github.com/fluxcd/source-controller")


def ensure(module: Module, name: str, say: Callable[[str], None] = print) -> pathlib.Path:
    """The path of a program, after building it where it is missing. Raises ClusterError with Go's own last words."""
    target = module.folder() / name
    target.parent.mkdir(parents=True, exist_ok=True)
    with (target.parent / f".{name}.lock").open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)  # two callers build it once; the lock goes with the process
        if not target.exists():
            say(f"building {name} ({module.packages[name]})")
            started = time.monotonic()
            unfinished = target.with_suffix(".unfinished")
            argv = ["build", "-trimpath", f"-ldflags={module.flags}", "-o", str(unfinished), module.packages[name]]
            _go(module, *argv)
            unfinished.rename(target)
            say(f"built {name} in {time.monotonic() - started:.0f} s")
    return target


def built(module: Module, name: str) -> bool:
    """Whether the program is in the cache."""
    return (module.folder() / name).exists()


def crds() -> tuple[pathlib.Path, ...]:
    """Flux's CRDs, out of the modules that its controllers are built from."""
    found: list[pathlib.Path] = []
    for controller in _CONTROLLERS:
        folder = json.loads(_go(FLUX, "mod", "download", "-json", controller))["Dir"]
        found += sorted(pathlib.Path(folder, "config", "crd", "bases").glob("*.yaml"))
    return tuple(found)


def _go(module: Module, *words: str) -> str:
    environment = os.environ | {"CGO_ENABLED": "0", "GOFLAGS": "-mod=readonly -buildvcs=false"}
    try:
        done = subprocess.run(
            ["go", *words], cwd=module.root, env=environment, capture_output=True, text=True, check=False
        )
    except FileNotFoundError as error:
        raise ClusterError("Flux and Argo CD are built from source and need Go on PATH: no `go` was found") from error
    if done.returncode != 0:
        last = "\n".join(done.stderr.splitlines()[-10:])
        raise ClusterError(f"go {words[0]} failed in {module.root}:\n{last}")
    return done.stdout
