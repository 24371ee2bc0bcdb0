"""hack.release: what was pushed, which digests the chart gets, and what else is signed."""

import hashlib
import json
import pathlib
import subprocess
import sys

import pytest
import yaml
from hack.images import content, sbom
from hack.release import chart, dockerfile, names, provenance, pushed
from hack.release.pushed import ReleaseRefused

VERSION = content.version()
VALUES = (content.ROOT / chart.CHART / "values.yaml").read_text()
RUN = provenance.ReleaseRun(
    builder="https://git.example/team/specdec/.github/workflows/release.yaml@refs/tags/v9.9.9",
    invocation="https://git.example/team/specdec/actions/runs/1/attempts/2",
    source="https://git.example/team/specdec",
    ref="refs/tags/v9.9.9",
    commit="c" * 40,
)
WORKFLOW = {
    "GITHUB_SERVER_URL": "https://git.example",
    "GITHUB_REPOSITORY": "team/specdec",
    "GITHUB_SHA": "c" * 40,
    "GITHUB_REF": "refs/tags/v9.9.9",
    "GITHUB_WORKFLOW_REF": "team/specdec/.github/workflows/release.yaml@refs/tags/v9.9.9",
    "GITHUB_RUN_ID": "1",
    "GITHUB_RUN_ATTEMPT": "2",
}


def image(target: str, registry: str = "registry.example:5000/team") -> pushed.Pushed:
    """The image under the names by which the workflow pushed it: the most specific tag first."""
    repository, _, tag = names.images(target, VERSION)[0].partition(":")
    digest = f"sha256:{hashlib.sha256(target.encode()).hexdigest()}"
    return pushed.Pushed(registry=registry, repository=repository, tag=tag, digest=digest)


def folder(path: pathlib.Path, *targets: str) -> pathlib.Path:
    for target in targets:
        each = image(target)
        (path / f"{target}.txt").write_text(f"{each.registry}/{each.repository}:{each.tag}@{each.digest}\n")
    return path


def test_what_was_pushed_is_read_by_target(tmp_path: pathlib.Path) -> None:
    """A registry's port is not a tag; the target that this release goes without is absent."""
    assert pushed.read(folder(tmp_path, "operator", "cpu", "nvidia"), without={"ascend"}) == {
        target: image(target) for target in ("operator", "cpu", "nvidia")
    }


def test_a_release_without_an_image_that_the_chart_names_is_refused(tmp_path: pathlib.Path) -> None:
    with pytest.raises(
        ReleaseRefused, match=r"no cpu\.txt, no nvidia\.txt: the chart names these images; push them first"
    ):
        pushed.read(folder(tmp_path, "operator", "ascend"), without={"ascend"})


@pytest.mark.parametrize(
    "text",
    ["registry.example/specdec-operator:0.1.0", "specdec-operator:0.1.0@sha256:" + "0" * 64, "r/o:1@sha256:0", ""],
    ids=["no digest", "no registry", "short digest", "nothing"],
)
def test_a_name_that_is_not_one_image_of_a_registry_is_refused(tmp_path: pathlib.Path, text: str) -> None:
    (tmp_path / "operator.txt").write_text(text)
    with pytest.raises(ReleaseRefused, match=r"operator\.txt: .* is not REGISTRY/NAME:TAG@sha256:HEX: push the image"):
        pushed.read_one(tmp_path, "operator")


def test_images_of_two_registries_are_refused(tmp_path: pathlib.Path) -> None:
    """The chart has one value for it."""
    folder(tmp_path, "operator", "cpu", "nvidia")
    other = image("cpu", "other.example")
    (tmp_path / "cpu.txt").write_text(f"other.example/{other.repository}:{other.tag}@{other.digest}")
    with pytest.raises(ReleaseRefused, match=r"images in other\.example and in registry\.example:5000/team"):
        pushed.read(tmp_path, without={"ascend"})


def test_the_released_values_name_registry_and_digests() -> None:
    """Nothing else changes; the runtime that was left out is off."""
    images = {target: image(target) for target in ("operator", "cpu", "nvidia")}
    before, after = yaml.safe_load(VALUES), yaml.safe_load(chart.stamped(VALUES, images, VERSION))
    before["registry"] = "registry.example:5000/team"
    before["digests"] |= {target: each.digest for target, each in images.items()}
    before["runtimes"]["ascend"]["enabled"] = False
    assert after == before


def test_the_alerts_of_a_released_chart_link_to_the_pages_of_its_version() -> None:
    """Those that the workflow of the docs publishes; a repository elsewhere has none there."""
    images = {target: image(target) for target in dockerfile.FILES}
    for source, address in (
        ("https://github.com/Team/specdec-operator", f"https://team.github.io/specdec-operator/{VERSION}/runbooks"),
        ("https://git.example/team/specdec-operator", ""),
    ):
        after = yaml.safe_load(chart.stamped(VALUES, images, VERSION, source))
        assert after["monitoring"]["rules"]["runbooks"] == address


def test_an_image_of_another_version_is_refused() -> None:
    """The chart's tag would name another image than its digest."""
    images = {target: image(target) for target in dockerfile.FILES}
    with pytest.raises(ReleaseRefused, match=r"cpu: .* has tag 'cpu-.*', not of version 9\.9\.9"):
        chart.stamped(VALUES, {"cpu": images["cpu"], **images}, "9.9.9")


def test_values_that_changed_their_form_are_refused() -> None:
    """A digest that is written nowhere would be an image by tag."""
    with pytest.raises(ReleaseRefused, match=r"values\.yaml: .* is there 0 times instead of once"):
        chart.stamped(VALUES.replace('  nvidia: ""\n', ""), {each: image(each) for each in dockerfile.FILES}, VERSION)


def test_the_charts_bill_of_materials_is_cyclonedx_and_names_each_image_by_digest() -> None:
    images = {target: image(target) for target in ("operator", "cpu", "nvidia")}
    bill = chart.bill(pushed.parse(f"r.example/charts/specdec-operator:1@sha256:{'0' * 64}", "here"), images)
    assert sbom.fault_of(json.dumps(bill)) == ""
    assert [each["hashes"][0]["content"] for each in bill["components"]] == [
        each.digest.removeprefix("sha256:") for each in images.values()
    ]


def test_provenance_shows_the_builder_and_the_commit() -> None:
    assert provenance.of_workflow(WORKFLOW) == RUN
    made = provenance.of_files(RUN)
    source = {"uri": "git+https://git.example/team/specdec@refs/tags/v9.9.9", "digest": {"gitCommit": "c" * 40}}
    assert made["buildDefinition"]["resolvedDependencies"][0] == source
    assert made["runDetails"] == {"builder": {"id": RUN.builder}, "metadata": {"invocationId": RUN.invocation}}


def test_provenance_of_an_image_has_its_base_and_every_file_that_pins_what_it_installs() -> None:
    """By digest, as they were built; an argument that was not given is not there."""
    made = provenance.of_image(RUN, "cpu", "arm64", {"VERSION": "9.9.9", "TORCH_INDEX": ""})["buildDefinition"]
    digests = {each.get("name", each.get("uri")): each["digest"] for each in made["resolvedDependencies"]}
    base = dockerfile.default("Dockerfile.runtime", "BASE_IMAGE")
    assert digests["docker://debian:bookworm-slim"] == {"sha256": base.rpartition(":")[2]}
    for name in ("cpu", "build", "sbom", "uv"):
        path = f"hack/images/requirements/{name}.txt"
        assert digests[path] == {"sha256": hashlib.sha256((content.ROOT / path).read_bytes()).hexdigest()}
    assert made["externalParameters"]["arguments"] == {"VERSION": "9.9.9"}
    assert made["externalParameters"]["target"] == "cpu"
    assert made["externalParameters"]["platform"] == "linux/arm64"


def test_provenance_of_an_index_has_its_images_by_digest() -> None:
    """Their own provenance lists their sources."""
    made = provenance.of_index(RUN, "cpu", [image("cpu")])["buildDefinition"]
    assert made["buildType"].endswith("/index/v1")
    assert made["resolvedDependencies"][1] == image("cpu").dependency


def test_a_release_needs_nothing_that_is_installed() -> None:
    """Its workflow runs it before anything is: -I and -S leave Python its standard library."""
    program = (
        "import sys; sys.path.insert(0, sys.argv.pop()); from hack.release.__main__ import main; main(['notes', 'v0'])"
    )
    command = [sys.executable, "-I", "-S", "-c", program, content.ROOT]
    done = subprocess.run(command, env={"GITHUB_REPOSITORY_OWNER": "team"}, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
