"""Runs Helm on the chart of this tree: the program `helm`, built from the Go module proxy into the cache, once for each
set of pins. It never touches a cluster.
"""

import json
import pathlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import yaml

from hack.cluster import binaries, shell, versions

ROOT: Final = pathlib.Path(__file__).parents[2]
CHART: Final = ROOT / "charts" / "specdec-operator"
RELEASE: Final = "specdec-operator"
NAMESPACE: Final = "specdec-system"

Objects = list[dict[str, Any]]
VERSION: Final = "3.19.5"
_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The CRD alone takes the loader in Python ten times as long."""
_PACKAGE: Final = "helm.sh/helm/v3/cmd/helm"
_KUBERNETES: Final = versions.KUBERNETES.split(".")
_HELM: Final = binaries.Module(
    root=pathlib.Path(__file__).parent / "go",
    packages={"helm": _PACKAGE},
    flags=versions.linker_flags(
        {
            "helm.sh/helm/v3/internal/version.version": f"v{VERSION}",
            # What `helm template` and `helm lint` take for the cluster's version; a build without it takes 1.20.
            "helm.sh/helm/v3/pkg/chartutil.k8sVersionMajor": _KUBERNETES[0],
            "helm.sh/helm/v3/pkg/chartutil.k8sVersionMinor": _KUBERNETES[1],
            "helm.sh/helm/v3/pkg/lint/rules.k8sVersionMajor": _KUBERNETES[0],
            "helm.sh/helm/v3/pkg/lint/rules.k8sVersionMinor": _KUBERNETES[1],
        }
    ),
)


def helm(say: Callable[[str], None] = print) -> pathlib.Path:
    """Return the path of the program, after building it where it is missing; two callers build it once.

    Raises ClusterError where there is no Go, or where the build fails.
    """
    return binaries.ensure_from(_HELM, "helm", say=say)["helm"]


def template(values: Mapping[str, Any], *words: str, chart: pathlib.Path = CHART) -> str:
    """Return what the chart renders with these values. Raises ClusterError with Helm's output."""
    asked = [f"--set-json={name}={json.dumps(value)}" for name, value in values.items()]
    return shell.run([str(helm()), "template", RELEASE, str(chart), f"--namespace={NAMESPACE}", *asked, *words])


def objects(values: Mapping[str, Any], *words: str, chart: pathlib.Path = CHART) -> Objects:
    """Return what it renders, as objects."""
    text = template(values, *words, chart=chart)
    return [each for each in yaml.load_all(text, Loader=_LOADER) if each]


def lint(values: Mapping[str, Any]) -> shell.CommandOutput:
    """Return the result of `helm lint --strict` for the chart with these values."""
    asked = [f"--set-json={name}={json.dumps(value)}" for name, value in values.items()]
    return shell.ask([str(helm()), "lint", "--strict", str(CHART), *asked])


def key(body: Mapping[str, Any]) -> tuple[str, str, str]:
    """Return what identifies an object: kind, namespace, name."""
    meta = body["metadata"]
    return body["kind"], meta.get("namespace", ""), meta["name"]


def by_key(found: Sequence[Mapping[str, Any]]) -> dict[tuple[str, str, str], dict[str, Any]]:
    """Return objects by kind, namespace and name."""
    return {key(each): dict(each) for each in found}
