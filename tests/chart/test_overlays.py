"""manifests/ and the chart have one source: nothing is stale, and each overlay is the chart with some values."""

import functools
import pathlib
import re
import shutil
from collections.abc import Mapping
from typing import Any

import pytest
import yaml
from hack.cluster import binaries, shell
from hack.command import stale
from hack.helm import chart, manifests

OVERLAYS: dict[str, Mapping[str, Any]] = {"default": {}, "ha": manifests.HA, "namespaced": manifests.NAMESPACED}
NO_DIAL = {"rbac.dial": False}
"""kustomize does not read the cluster's version, so the dial is a folder of its own."""


@functools.cache
def built(overlay: str) -> list[dict[str, Any]]:
    """What `kubectl kustomize` makes of an overlay."""
    kubectl = binaries.ensure("kubectl")["kubectl"]
    text = shell.run([str(kubectl), "kustomize", str(manifests.FOLDER / overlay)])
    return [each for each in yaml.safe_load_all(text) if each]


def bare(body: dict[str, Any]) -> dict[str, Any]:
    """An object without the parts that only show which tool installed it: its labels, and the annotations for Helm."""
    meta = {part: value for part, value in body["metadata"].items() if part not in ("labels", "annotations")}
    return body | {"metadata": meta}


def test_nothing_is_stale() -> None:
    """`make generate` writes them."""
    assert stale(manifests.written()) == []


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_an_overlay_is_the_chart(overlay: str) -> None:
    """Two differences are allowed: the namespace, which Helm or another tool creates, and the chart's hooks."""
    theirs = [each for each in built(overlay) if each["kind"] != "Namespace"]
    ours = chart.objects(OVERLAYS[overlay] | NO_DIAL, "--skip-tests", "--no-hooks")
    made = {key: bare(each) for key, each in chart.by_key(ours).items()}
    assert {key: bare(each) for key, each in chart.by_key(theirs).items()} == made


def test_the_namespace_admits_only_restricted_pods() -> None:
    """The Pod Security Standard `restricted` is enforced by the API server."""
    (namespace,) = (each for each in built("default") if each["kind"] == "Namespace")
    assert namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "restricted"


def test_the_overlay_of_the_install_page_names_its_registry_everywhere(tmp_path: pathlib.Path) -> None:
    """As it is written there, beside the folders of a checkout: no pod of the operator or of NVIDIA lacks it."""
    page = (manifests.FOLDER.parent / "docs" / "install.md").read_text()
    (overlay,) = (each for each in re.findall(r"```yaml\n(.*?)```", page, re.DOTALL) if "kind: Kustomization" in each)
    for name in ("manifests", "crds"):
        shutil.copytree(manifests.FOLDER.parent / name, tmp_path / name)
    (tmp_path / "overlay").mkdir()
    (tmp_path / "overlay" / "kustomization.yaml").write_text(overlay)
    kubectl = binaries.ensure("kubectl")["kubectl"]
    text = shell.run([str(kubectl), "kustomize", str(tmp_path / "overlay")])
    objects = [each for each in yaml.safe_load_all(text) if each]
    (operator,) = (each for each in objects if each["kind"] == "Deployment")
    (container,) = operator["spec"]["template"]["spec"]["containers"]
    runtimes = {each["metadata"]["name"]: each["spec"]["containers"] for each in objects if "Runtime" in each["kind"]}
    (nvidia,) = next(each for name, each in runtimes.items() if name.startswith("specdec-nvidia-"))
    told = next(each["value"] for each in container["env"] if each["name"] == "SPECDEC_IMAGE")
    registry = "registry.example/team"
    version = container["image"].rpartition(":")[2]
    assert (container["image"], told) == (f"{registry}/specdec-operator:{version}",) * 2
    assert nvidia["image"] == f"{registry}/specdec-runtime:nvidia-{version}"
    (before,) = (each for each in built("default") if each["kind"] == "Deployment")
    assert len(container["env"]) == len(before["spec"]["template"]["spec"]["containers"][0]["env"])
