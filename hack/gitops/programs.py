"""Builds Flux's and Argo CD's own code from the Go module proxy into the cache, once for each set of pins."""

import pathlib
from collections.abc import Callable
from typing import Final

from hack.cluster import binaries
from hack.cluster.binaries import Module

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


def ensure(module: Module, name: str, say: Callable[[str], None] = print) -> pathlib.Path:
    """The path of a program, which is built if it is missing. Raises ClusterError with the end of Go's output."""
    return binaries.ensure_from(module, name, say=say)[name]
