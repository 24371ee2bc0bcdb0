"""actionlint, which reads the workflow files: built from the Go module proxy into the cache."""

import pathlib
from collections.abc import Callable
from typing import Final

from hack.cluster import binaries

_MODULE: Final = binaries.Module(
    root=pathlib.Path(__file__).parent / "go",
    packages={"actionlint": "github.com/rhysd/actionlint/cmd/actionlint"},
    flags="",
)


def ensure(say: Callable[[str], None] = print) -> pathlib.Path:
    """Return the path of the program, after building it where it is missing. Raises ClusterError where it cannot be."""
    return binaries.ensure_from(_MODULE, "actionlint", say=say)["actionlint"]
