"""Where actionlint comes from: built from the Go module proxy into the cache, once for each set of pins."""

import fcntl
import hashlib
import os
import pathlib
import shutil
import subprocess
from collections.abc import Callable
from typing import Final

from hack.cluster import paths
from hack.cluster.errors import ClusterError

_MODULE: Final = pathlib.Path(__file__).parent / "go"
_PACKAGE: Final = "github.com/rhysd/actionlint/cmd/actionlint"


def ensure(say: Callable[[str], None] = print) -> pathlib.Path:
    """Return the path of the program, after building it where it is missing. Raises ClusterError where it cannot be."""
    digest = hashlib.sha256((_MODULE / "go.mod").read_bytes() + (_MODULE / "go.sum").read_bytes()).hexdigest()[:12]
    target = paths.cache() / "bin" / digest / "actionlint"
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        with (target.parent / ".lock").open("w") as handle:
            fcntl.flock(handle, fcntl.LOCK_EX)
            if not target.exists():
                _build(target, say)
    return target


def _build(target: pathlib.Path, say: Callable[[str], None]) -> None:
    if shutil.which("go") is None:
        raise ClusterError("actionlint is built from source and needs Go >= 1.24 on PATH: no `go` was found")
    say(f"building actionlint ({_PACKAGE})")
    unfinished = target.with_suffix(".unfinished")
    done = subprocess.run(
        ["go", "build", "-mod=readonly", "-trimpath", "-o", str(unfinished), _PACKAGE],
        cwd=_MODULE,
        env=os.environ | {"CGO_ENABLED": "0"},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        last = "\n".join(done.stderr.splitlines()[-10:])
        raise ClusterError(f"go build {_PACKAGE} failed in {_MODULE}:\n{last}")
    unfinished.rename(target)
