"""Runs of the engine on a GPU, as far as no GPU is needed: what is asked, in which image, what becomes of the page."""

import shutil
from pathlib import Path

import pytest
from hack.cluster.errors import ClusterError
from hack.images import box, tool

from lab.engine import cases, page, place


@pytest.fixture
def on_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(place.ACCELERATOR, "nvidia")


def test_the_operators_own_flags_are_used_on_a_gpu(tmp_path: Path, on_gpu: None) -> None:
    """With graphs, which no CPU has, and a share of the device that four engines leave each other."""
    started, _ = cases.split()
    for method in started:
        flags = method.flags(tmp_path)
        assert "--enforce-eager" not in flags
        shares = [each for each in flags if each.startswith("--gpu-memory-utilization")]
        assert shares[-1] == "--gpu-memory-utilization=0.2"
        assert method.spec()["spec"]["engine"]["accelerator"] == "nvidia"


def test_what_the_images_engine_lacks_is_not_started_as_the_operators(monkeypatch: pytest.MonkeyPatch) -> None:
    """vLLM 0.33 has no medusa any more, and a CPU no ngram_gpu: such a run shows the engine's error."""
    started, refused = cases.split()
    assert (started, refused) == (list(cases.METHODS), list(cases.ELSEWHERE))
    monkeypatch.setenv(place.ACCELERATOR, "nvidia")
    started, refused = cases.split()
    assert {each.name for each in refused} == {"medusa", "mlp_speculator"}
    assert {"ngram_gpu", "dspark", "eagle3"} <= {each.name for each in started}


def test_without_a_word_runs_are_on_the_cpu() -> None:
    found = place.chosen({})
    assert (found.accelerator, found.prefix, found.flags, found.device()) == ("cpu", "", (), None)
    assert place.chosen({place.ACCELERATOR: "nvidia"}).prefix == "gpu-"
    with pytest.raises(ClusterError, match="it must be one of cpu, nvidia"):
        place.chosen({place.ACCELERATOR: "gpu"})


def test_a_machine_without_a_gpu_fails_before_anything_is_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, on_gpu: None
) -> None:
    """An image of 10 GB is not built for a run that cannot be made."""
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ClusterError, match="nvidia-smi is not there: a run on a GPU needs one"):
        place.chosen().device()
    (tmp_path / "nvidia-smi").write_text("#!/bin/sh\necho 'NVIDIA H100 80GB HBM3, 580.65.06, 81559 MiB'\n")
    (tmp_path / "nvidia-smi").chmod(0o755)
    assert place.chosen().device() == "NVIDIA H100 80GB HBM3, 580.65.06, 81559 MiB"


def test_each_builder_gives_gpus_by_its_own_option_and_buildah_none() -> None:
    assert box._gpus(tool.Tool(kind=tool.ImageTool.DOCKER)) == "--gpus=all"
    assert box._gpus(tool.Tool(kind=tool.ImageTool.PODMAN)) == "--device=nvidia.com/gpu=all"
    with pytest.raises(ClusterError, match="docker or podman"):
        box._gpus(tool.Tool(kind=tool.ImageTool.BUILDAH))


def test_runs_on_a_gpu_fill_their_own_part_of_the_page(tmp_path: Path) -> None:
    """The CPU's files, under the names that a run on a GPU gives its own: the tables have the same form."""
    text = (page.FOLDER.parent / "engine.md").read_text()
    for each in page.FOLDER.glob("*.json"):
        shutil.copy(each, tmp_path)
    assert "no GPU was available" in page.page(text, tmp_path)
    for name in ("methods", "faults", "bench"):
        shutil.copy(page.FOLDER / f"{name}.json", tmp_path / f"gpu-{name}.json")
    part = page.page(text, tmp_path).partition("<!-- gpu:")[2].partition("<!-- /gpu -->")[0]
    assert "no GPU was available" not in part
    assert ["Every method:" in part, "Speed:" in part, "Which check finds which fault:" in part] == [True] * 3
    assert part.count("\n| plain |") == 1
    assert part.count(" ms | ") > 2
