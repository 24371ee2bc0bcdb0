"""Builds Flux's and Argo CD's own code from the Go module proxy into the cache, once for each set of pins."""

import json
import pathlib
from collections.abc import Callable
from typing import Final

from hack.cluster import binaries, shell
from hack.cluster.binaries import Module

_HERE: Final = pathlib.Path(__file__).parent
_FLAGS: Final = "-s -w"
_SECONDS: Final = 600.0

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
    return binaries.ensure_from(module, name, say=say)[name]


def built(module: Module, name: str) -> bool:
    """Whether the program is in the cache."""
    return (module.folder() / name).exists()


def crds() -> tuple[pathlib.Path, ...]:
    """Flux's CRDs, out of the modules that its controllers are built from. Raises ClusterError with Go's words."""
    found: list[pathlib.Path] = []
    for controller in _CONTROLLERS:
        told = shell.run(["go", f"-C={FLUX.root}", "mod", "download", "-json", controller], timeout=_SECONDS)
        found += sorted(pathlib.Path(json.loads(told)["Dir"], "config", "crd", "bases").glob("*.yaml"))
    return tuple(found)
