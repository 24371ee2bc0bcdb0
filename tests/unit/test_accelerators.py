"""What is shipped for NPUs and GPUs: the samples, the runtimes, and what no pod may ask for."""

import pathlib
import re
from typing import Any

import pytest
import yaml
from hack.images import content

from specdec_command.cli import validate
from specdec_engine.accelerators import Accelerator
from tests import golden, installed
from tests.unit.render.accelerated import ASCEND, NVIDIA, SAMPLES

RUNTIMES = SAMPLES.parent / "runtimes"
GOLDEN = pathlib.Path(golden.__file__).parent


def container(accelerator: str) -> dict[str, Any]:
    """The engine's container in a runtime."""
    spec = yaml.safe_load((RUNTIMES / f"{accelerator}.yaml").read_text(encoding="utf-8"))["spec"]
    first: dict[str, Any] = spec["containers"][0]
    return first


def environment(accelerator: str) -> dict[str, str]:
    """What a runtime sets."""
    return {each["name"]: each["value"] for each in container(accelerator)["env"]}


def engine(name: str) -> dict[str, Any]:
    """The engine's container in a golden InferenceService."""
    document = yaml.safe_load((GOLDEN / f"{name}.yaml").read_text(encoding="utf-8"))
    model: dict[str, Any] = document["spec"]["predictor"]["model"]
    return model


def arguments(name: str) -> list[str]:
    """Its flags."""
    args: list[str] = engine(name)["args"]
    return args


@pytest.mark.parametrize("file", sorted(SAMPLES.glob("*.yaml")), ids=lambda file: str(file.stem))
def test_no_sample_is_refused(file: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Samples are what people copy."""
    assert validate.main([str(file)]) == 0
    assert "refused" not in capsys.readouterr().out


@pytest.mark.parametrize("accelerator", Accelerator)
def test_every_accelerator_has_its_runtime_with_the_image_of_its_name(accelerator: Accelerator) -> None:
    """The operator gets the runtime's name; Dockerfile.runtime has the target by the accelerator alone."""
    document = yaml.safe_load((RUNTIMES / f"{accelerator}.yaml").read_text(encoding="utf-8"))
    name = installed.runtimes()[accelerator]
    assert document["metadata"]["name"] == name
    assert re.fullmatch(f"specdec-{accelerator}-[0-9a-f]{{8}}", name)
    assert container(accelerator)["image"] == f"specdec-runtime:{accelerator}-{content.version()}"
    assert f"{accelerator}.yaml" in yaml.safe_load((RUNTIMES / "kustomization.yaml").read_text())["resources"]


def test_npus_get_the_environment_that_is_right_for_every_service_and_no_more() -> None:
    """Memory segments are the engine's to choose: it may not have expandable ones with its sleep mode. The buffer of a
    collective is memory of the model's, and its size depends on the model."""
    made = environment("ascend")
    assert {name: made[name] for name in ("HCCL_OP_EXPANSION_MODE", "OMP_NUM_THREADS", "TASK_QUEUE_ENABLE")} == {
        "HCCL_OP_EXPANSION_MODE": "AIV",
        "OMP_NUM_THREADS": "1",
        "TASK_QUEUE_ENABLE": "1",
    }
    assert not made.keys() & {"PYTORCH_NPU_ALLOC_CONF", "HCCL_BUFFSIZE", "ASCEND_RT_VISIBLE_DEVICES"}


def test_no_pod_asks_for_a_folder_of_its_node() -> None:
    """Pod Security forbids it beyond `privileged`; the driver comes from the node's container runtime."""
    files = [*GOLDEN.glob("*.yaml"), *RUNTIMES.glob("*.yaml")]
    assert len(files) > 10
    assert not [file.name for file in files if "hostPath" in file.read_text(encoding="utf-8")]


@pytest.mark.parametrize("name", ASCEND)
def test_the_two_ways_to_verify_in_blocks_are_never_mixed(name: str) -> None:
    """A GPU's is lossless and part of the speculative configuration; an NPU's is lossy and is not."""
    assert not [arg for arg in arguments(name) if "rejection_sample_method" in arg]
    own = [arg for arg in arguments(name) if "rejection_sampler_config" in arg]
    assert bool(own) is ("ascend" in ASCEND[name]["speculation"])
    assert all(arg.startswith("--additional-config=") for arg in own)


@pytest.mark.parametrize("name", NVIDIA)
def test_a_gpu_gets_no_setting_that_is_for_npus(name: str) -> None:
    said = " ".join(arguments(name))
    assert "additional-config" not in said
    assert "compilation-config" not in said


def test_a_rollback_takes_every_flag_of_the_speculation_away_and_keeps_the_devices() -> None:
    """What is left is the baseline on the same NPUs."""
    before, after = arguments("ascend-mtp-block-verify"), arguments("ascend-rolled-back")
    gone = {arg.partition("=")[0] for arg in before if arg not in after}
    assert gone == {
        "--additional-config",
        "--compilation-config",
        "--gpu-memory-utilization",
        "--speculative-config",
    }
    assert set(after) < set(before)
    assert engine("ascend-rolled-back")["resources"] == engine("ascend-mtp-block-verify")["resources"]
