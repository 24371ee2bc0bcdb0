"""manifests/ and the chart have one source: nothing is stale, and each overlay is the chart with some values."""

import functools
from collections.abc import Mapping
from typing import Any

import pytest
import yaml
from hack.cluster import binaries, shell
from hack.command import stale
from hack.helm import chart, manifests

OVERLAYS: dict[str, Mapping[str, Any]] = {"default": {}, "ha": manifests.HA, "namespaced": manifests.NAMESPACED}


@functools.cache
def built(overlay: str) -> list[dict[str, Any]]:
    """What `kubectl kustomize` makes of an overlay."""
    kubectl = binaries.ensure("kubectl")["kubectl"]
    text = shell.run([str(kubectl), "kustomize", str(manifests.FOLDER / overlay)])
    return [each for each in yaml.safe_load_all(text) if each]


def bare(body: dict[str, Any]) -> dict[str, Any]:
    """An object without what says only who brought it: its labels, and annotations for Helm."""
    meta = {part: value for part, value in body["metadata"].items() if part not in ("labels", "annotations")}
    return body | {"metadata": meta}


def test_nothing_is_stale() -> None:
    """`make generate` writes them."""
    assert stale(manifests.written()) == []


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_an_overlay_is_the_chart(overlay: str) -> None:
    """But for the namespace, which Helm makes or somebody else has made, and for the chart's hooks."""
    theirs = [each for each in built(overlay) if each["kind"] != "Namespace"]
    ours = chart.objects(OVERLAYS[overlay], "--skip-tests", "--no-hooks")
    made = {key: bare(each) for key, each in chart.by_key(ours).items()}
    assert {key: bare(each) for key, each in chart.by_key(theirs).items()} == made


def test_the_namespace_lets_no_pod_in_that_may_more_than_it_needs() -> None:
    """The Pod Security Standard `restricted` is enforced by the API server."""
    (namespace,) = (each for each in built("default") if each["kind"] == "Namespace")
    assert namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "restricted"
