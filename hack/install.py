"""Installs the operator on the local cluster, with the permissions for downloads and baseline pods, and with the images
that were built here.

python -m hack.install           # again: it is replaced
python -m hack.install remove    # with its CRD, and so with every service
"""

import pathlib
from collections.abc import Mapping
from typing import Any

import yaml

from hack import images
from hack.cluster import images as node
from hack.cluster import kubectl, paths
from hack.cluster.errors import ClusterError
from hack.command import run
from hack.images import content

NAMESPACE = "specdec-system"
_MANIFESTS = [
    pathlib.Path(__file__).parents[1] / "manifests" / name for name in ("default", "downloads", "control", "dial")
]
_NAMES = ("image", "value")
"""Keys under which an image is named: of a container, and of the variable with the operator's own image."""


def with_images(objects: list[dict[str, Any]], refs: Mapping[str, str]) -> list[dict[str, Any]]:
    """The objects with each image's name replaced, where `refs` has another for it."""

    def replaced(value: Any) -> Any:
        if isinstance(value, dict):
            return {k: refs.get(v, v) if k in _NAMES and isinstance(v, str) else replaced(v) for k, v in value.items()}
        return [replaced(part) for part in value] if isinstance(value, list) else value

    return [replaced(each) for each in objects]


def refs_of(built: images.Refs) -> dict[str, str]:
    """The image names of the manifests, and what stands for them here."""
    version = content.version()
    return {f"specdec-operator:{version}": built.operator, f"specdec-runtime:cpu-{version}": built.runtime}


def ensure(built: images.Refs) -> None:
    """Applies everything and waits for the operator. Safe to call again.

    Raises ClusterError with kubectl's output, or if the cluster lacks one of these images and could not pull it.
    """
    if absent := [each for each in (built.operator, built.runtime) if not node.has(each)]:
        raise ClusterError(f"the local cluster does not have {', '.join(absent)}: `make images` builds and loads them")
    kubeconfig = kubectl.config()
    scratch = paths.layout().run / "install"
    rendered = "---\n".join(kubectl.run(kubeconfig, "kustomize", str(each)) for each in _MANIFESTS)
    objects = with_images([each for each in yaml.safe_load_all(rendered) if each], refs_of(built))
    crds = [each for each in objects if each["kind"] == "CustomResourceDefinition"]
    kubectl.apply(kubeconfig, crds, scratch / "crds.json")
    kubectl.wait_established(kubeconfig, [each["metadata"]["name"] for each in crds])
    kubectl.apply(kubeconfig, [each for each in objects if each not in crds], scratch / "operator.json")
    kubectl.wait(kubeconfig, "rollout", "status", "deployment/specdec-operator", f"--namespace={NAMESPACE}")


def present() -> bool:
    """Whether the local cluster has an operator, from this module or another source. Raises ClusterError."""
    return kubectl.get(kubectl.config(), "deployments", f"--namespace={NAMESPACE}", "specdec-operator") is not None


def remove() -> None:
    """Deletes everything that `ensure` applied. Raises ClusterError with kubectl's output."""
    kubeconfig = kubectl.config()
    for each in reversed(_MANIFESTS):
        kubectl.wait(kubeconfig, "delete", "--kustomize", str(each), "--ignore-not-found")


def main(words: list[str]) -> int:
    """Installs with the images that are built from this tree, or removes what was installed."""
    if words == ["remove"]:
        remove()
        print(f"the operator is removed from namespace {NAMESPACE}")
        return 0
    ensure(images.refs())
    print(f"the operator runs in namespace {NAMESPACE}")
    return 0


if __name__ == "__main__":
    run(main)
