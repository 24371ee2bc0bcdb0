"""hack.release: what is built where, under which registry, and one name for the images of a target."""

import hashlib
import json
import pathlib
from collections.abc import Sequence

import pytest
from hack.dry_run.node import drafting
from hack.release import index, plan, pushed
from hack.release.pushed import Pushed, ReleaseRefused
from hack.release.ship import Release
from tests.unit.hack.test_release_pushed import RUN

OWNER = {"GITHUB_REPOSITORY_OWNER": "Some-Team"}


def part(arch: str, target: str = "cpu") -> Pushed:
    digest = f"sha256:{hashlib.sha256(f'{target}{arch}'.encode()).hexdigest()}"
    return Pushed(registry="r.example/team", repository="specdec-runtime", tag=f"{target}-1.2.3-{arch}", digest=digest)


def written(wanted: Sequence[str], parts: Sequence[Pushed]) -> bytes:
    return json.dumps({"manifests": [{"digest": each.digest} for each in parts]}).encode()


def test_without_a_variable_a_fork_releases_below_its_owner() -> None:
    """A registry has no capital letters."""
    found = plan.of(OWNER)
    assert found.registry == "ghcr.io/some-team"
    assert found.without == {"ascend"}
    assert {(each.target, each.arch) for each in found.images} == {
        (target, arch) for target in ("operator", "cpu", "nvidia") for arch in ("amd64", "arm64")
    }


def test_a_release_that_goes_nowhere_is_refused() -> None:
    with pytest.raises(ReleaseRefused, match=r"set REGISTRY, as in registry\.example/team"):
        plan.of({})


def test_each_image_is_built_on_its_processor_and_engines_for_devices_on_larger_runners() -> None:
    """Nothing is emulated."""
    found = plan.of(OWNER | {"ASCEND_INDEX": "https://i.example", "RUNNER_ARM64": "large-arm"})
    runners = {(each.target, each.arch): each.runner for each in found.images}
    assert runners["cpu", "arm64"] == "ubuntu-24.04-arm"
    assert runners["nvidia", "arm64"] == runners["ascend", "arm64"] == "large-arm"
    assert runners["nvidia", "amd64"] == "ubuntu-24.04"


def test_what_is_left_out_is_not_built_and_the_page_of_the_release_lists_it() -> None:
    found = plan.of(OWNER | {"LEFT_OUT": "nvidia, cpu/arm64"})
    assert found.architectures("cpu") == ("amd64",)
    assert found.without == {"nvidia", "ascend"}
    notes = found.notes()
    assert "| `cpu` | amd64 |" in notes
    assert "| `nvidia` | - |" in notes
    assert "- `cpu/arm64` is left out: variable LEFT_OUT." in notes
    assert "- `ascend/amd64` is left out: no variable ASCEND_INDEX." in notes


@pytest.mark.parametrize(
    ("word", "told"),
    [("gpu", "'gpu' is no image: write TARGET or TARGET/ARCH"), ("operator", "operator/amd64 cannot be left out")],
)
def test_what_cannot_be_left_out_is_refused(word: str, told: str) -> None:
    with pytest.raises(ReleaseRefused, match=told):
        plan.of(OWNER | {"LEFT_OUT": word})


def test_the_matrix_is_one_line_of_a_steps_output() -> None:
    """As GitHub reads it: name=value."""
    registry, images = plan.of(OWNER).outputs().splitlines()
    assert registry == "registry=ghcr.io/some-team"
    assert json.loads(images.removeprefix("images="))[0] == {
        "target": "operator",
        "arch": "amd64",
        "runner": "ubuntu-24.04",
    }


def test_a_build_without_the_disk_for_it_is_refused_with_two_ways_out(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before it has run for an hour."""
    assert "needs 4 GB" in plan.refuse_without_room("operator", str(tmp_path))
    monkeypatch.setitem(plan.GIGABYTES, "nvidia", 10**9)
    with pytest.raises(ReleaseRefused, match=r"RUNNER_AMD64 or RUNNER_ARM64, or leave the image out: LEFT_OUT=nvidia"):
        plan.refuse_without_room("nvidia", str(tmp_path))


def test_an_index_is_named_by_the_digest_of_what_the_registry_has() -> None:
    parts = [part("amd64"), part("arm64")]
    made = index.joined(written, "r.example/team", ["specdec-runtime:cpu-1", "specdec-runtime:cpu-1.2.3"], parts)
    content = written((), parts)
    assert made.name == f"r.example/team/specdec-runtime@sha256:{hashlib.sha256(content).hexdigest()}"
    assert made.tag == "cpu-1.2.3"


def test_an_index_of_other_images_is_not_signed() -> None:
    """Another user may have pushed the tag in between."""

    def other(wanted: Sequence[str], parts: Sequence[Pushed]) -> bytes:
        return written(wanted, [*parts, part("amd64", "nvidia")])

    with pytest.raises(ReleaseRefused, match="somebody else has pushed this tag; run the release again"):
        index.joined(other, "r.example/team", ["specdec-runtime:cpu-1.2.3"], [part("amd64")])


def test_an_index_needs_the_image_of_every_processor(tmp_path: pathlib.Path) -> None:
    """Its job failed, or its artifact was lost."""
    image = part("amd64")
    (tmp_path / "cpu.amd64.txt").write_text(f"{image.tagged}@{image.digest}\n")
    with pytest.raises(ReleaseRefused, match=r"cpu\.arm64\.txt is absent: push the image"):
        Release(run=RUN, images=tmp_path, join=written).ship_index("cpu", ("amd64", "arm64"))
    with pytest.raises(ReleaseRefused, match=r"cpu\.txt is absent"):
        pushed.read_one(tmp_path, "cpu")


def test_a_sample_drafts_once_its_draft_is_used_and_a_window_passed() -> None:
    """Ready alone, or a window without tokens, does not prove it."""
    used = {"type": "SpeculationActive", "status": "True", "reason": "Drafting", "message": "counted"}
    assert drafting({}) is None
    assert drafting({"conditions": [used], "guard": {"verdict": "Inconclusive"}}) is None
    assert drafting({"conditions": [used | {"reason": "Waiting"}], "guard": {"verdict": "Pass"}}) is None
    assert drafting({"conditions": [used], "guard": {"verdict": "Pass"}}) == "counted"
