"""The program `helm`, built from the Go module proxy into the cache, once for each set of pins."""

import pathlib
from collections.abc import Callable
from typing import Final

from hack.cluster import binaries, versions

VERSION: Final = "3.19.5"
_PACKAGE: Final = "helm.sh/helm/v3/cmd/helm"
_KUBERNETES: Final = versions.KUBERNETES.split(".")
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
    return binaries.ensure_from(_HELM, "helm", say=say)["helm"]
