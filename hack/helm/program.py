"""The program `helm`, built from the Go module proxy into the cache, once for each set of pins."""

import fcntl
import os
import pathlib
import time
from collections.abc import Callable
from typing import Final

from hack.cluster import binaries, shell, versions

VERSION: Final = "3.19.5"
_PACKAGE: Final = "helm.sh/helm/v3/cmd/helm"
_KUBERNETES: Final = versions.KUBERNETES.split(".")
_BUILD_SECONDS: Final = 1800.0
_HELM: Final = binaries.Module(
    root=pathlib.Path(__file__).parent / "go",
    packages={"helm": _PACKAGE},
    flags=versions.linker_flags(
        {
            "helm.sh/helm/v3/internal/version.version": f"v{VERSION}",
            # What `helm template` and `helm lint` take for the cluster's version; without it a plain build says 1.20.
            "helm.sh/helm/v3/pkg/chartutil.k8sVersionMajor": _KUBERNETES[0],
            "helm.sh/helm/v3/pkg/chartutil.k8sVersionMinor": _KUBERNETES[1],
            "helm.sh/helm/v3/pkg/lint/rules.k8sVersionMajor": _KUBERNETES[0],
            "helm.sh/helm/v3/pkg/lint/rules.k8sVersionMinor": _KUBERNETES[1],
        }
    ),
)


def ensure(say: Callable[[str], None] = print) -> pathlib.Path:
    """Return the path of the program, after building it where it is missing; two callers build it once.

    Raises ClusterError where there is no Go, or where the build fails.
    """
    target = _HELM.folder() / "helm"
    if target.exists():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    with (target.parent / ".lock").open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        if not target.exists():
            _build(target, say)
    return target


def _build(target: pathlib.Path, say: Callable[[str], None]) -> None:
    binaries.require_go()
    say(f"building helm ({_PACKAGE}), minutes the first time")
    started = time.monotonic()
    unfinished = target.with_suffix(".unfinished")
    shell.run(
        [
            *("go", "build", f"-C={_HELM.root}", "-mod=readonly", "-trimpath"),
            *(f"-ldflags={_HELM.flags}", "-o", str(unfinished), _PACKAGE),
        ],
        timeout=_BUILD_SECONDS,
        env=os.environ | {"CGO_ENABLED": "0"},
    )
    unfinished.rename(target)
    say(f"built helm in {time.monotonic() - started:.0f} s")
