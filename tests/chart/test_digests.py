"""The chart as a release packages it, with the real Helm: images by digest, and what users can still choose."""

import pathlib
import subprocess
from collections.abc import Mapping
from typing import Any

import pytest
from hack.cluster.errors import ClusterError
from hack.helm import chart
from hack.images import content
from hack.release import chart as shipped
from hack.release import names
from hack.release.pushed import Pushed

TARGETS = ("operator", "cpu", "nvidia")
DIGESTS = {target: f"sha256:{number:064x}" for number, target in enumerate(TARGETS, 1)}


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """The archive of a release without an image for Ascend."""
    images = {}
    for target in TARGETS:
        repository, _, tag = names.images(target, content.version())[0].partition(":")
        place = "registry.example/team"
        images[target] = Pushed(registry=place, repository=repository, tag=tag, digest=DIGESTS[target])
    return shipped.package(images, tmp_path_factory.mktemp("chart"), helm=str(chart.helm()))


def images_of(archive: pathlib.Path, values: Mapping[str, Any]) -> set[str]:
    """Every image in what the archive renders."""
    return {
        container["image"]
        for each in chart.objects(values, chart=archive)
        for spec in (each.get("spec", {}), each.get("spec", {}).get("template", {}).get("spec", {}))
        for container in spec.get("containers", [])
    }


def test_a_released_chart_names_every_image_by_digest(archive: pathlib.Path) -> None:
    """And its registry: nothing has to be set. The runtime that the release has no image of is not there."""
    version = content.version()
    assert images_of(archive, {}) == {
        f"registry.example/team/specdec-operator:{version}@{DIGESTS['operator']}",
        f"registry.example/team/specdec-runtime:cpu-{version}@{DIGESTS['cpu']}",
        f"registry.example/team/specdec-runtime:nvidia-{version}@{DIGESTS['nvidia']}",
    }


def test_packaging_leaves_the_checkout_alone(archive: pathlib.Path) -> None:
    """The digests are in the archive only."""
    assert archive.stat().st_size > 0
    assert 'operator: ""' in (chart.CHART / "values.yaml").read_text()
    told = subprocess.run(["tar", "-xOzf", archive, "specdec-operator/values.yaml"], capture_output=True, check=True)
    assert f'operator: "{DIGESTS["operator"]}"' in told.stdout.decode()


@pytest.mark.parametrize(
    ("values", "image"),
    [
        ({"registry": "mirror.example"}, f"mirror.example/specdec-operator:{content.version()}@{DIGESTS['operator']}"),
        ({"image.tag": "own"}, "registry.example/team/specdec-operator:own"),
        (
            {"image.tag": "own", "image.digest": f"sha256:{'a' * 64}"},
            f"registry.example/team/specdec-operator:own@sha256:{'a' * 64}",
        ),
        ({"runtimes.cpu.image": "own.example/cpu:1"}, "own.example/cpu:1"),
    ],
    ids=["a mirror", "a tag", "a tag with a digest", "a runtime"],
)
def test_a_digest_holds_for_the_images_of_the_release_alone(
    archive: pathlib.Path, values: Mapping[str, Any], image: str
) -> None:
    """With the digest of another image, what a user names would never be run. A mirror has the same image."""
    assert image in images_of(archive, values)


def test_a_runtime_that_the_release_has_no_image_of_is_refused_with_the_way_out(archive: pathlib.Path) -> None:
    """Its pods would wait for an image that is nowhere."""
    with pytest.raises(ClusterError, match=r"this release has no image of it: name yours in runtimes\.ascend\.image"):
        chart.template({"runtimes.ascend.enabled": True}, chart=archive)
    own = {"runtimes.ascend.enabled": True, "runtimes.ascend.image": "own.example/ascend:1"}
    assert "own.example/ascend:1" in images_of(archive, own)


@pytest.mark.parametrize("target", ["operator", "cpu", "nvidia", "ascend"])
def test_a_wrong_digest_is_refused_with_its_path(target: str) -> None:
    with pytest.raises(ClusterError, match=f"at '/digests/{target}'"):
        chart.template({f"digests.{target}": "sha256:1"})
