"""A release made on this machine: its own functions, with a registry on loopback and a key that is thrown away, and an
installation of it on the local cluster.
"""

import pathlib
from collections.abc import Callable
from typing import Final

from hack.cluster import binaries

_MODULE: Final = binaries.Module(
    root=pathlib.Path(__file__).parent / "go",
    packages={
        "cosign": "github.com/sigstore/cosign/v3/cmd/cosign",
        "registry": "github.com/distribution/distribution/v3/cmd/registry",
    },
    flags="-s -w",
)


def programs(say: Callable[[str], None]) -> dict[str, pathlib.Path]:
    """Return the paths of cosign and of a registry, after building what is missing. Raises ClusterError."""
    return binaries.ensure_from(_MODULE, *_MODULE.packages, say=say)
