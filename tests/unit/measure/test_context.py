"""The context of the numbers, out of the cluster's objects."""

import pytest
from tests.unit.measure.standin import service

from specdec_command.measure.context import context, differences, environment, node_of, running

BASELINE = ["python3", "-m", "vllm", "--model=/m", "--enforce-eager"]


@pytest.mark.parametrize(
    ("speculating", "said"),
    [
        ([*BASELINE, "--speculative-config={}"], ()),
        ([*BASELINE, "--speculative-config", "{}"], ()),
        (["python3", "-m", "vllm", "--enforce-eager", "--model=/m"], ()),
        (
            [*BASELINE, "--gpu-memory-utilization=0.88"],
            ("--gpu-memory-utilization: 0.88 with speculation, not set without",),
        ),
        (BASELINE[:-1], ("--enforce-eager: not set with speculation, set without",)),
        (["python3", "-m", "vllm", "--model=/n", "--enforce-eager"], ("--model: /n with speculation, /m without",)),
        ([*BASELINE, "--model=/n"], ("--model: /m /n with speculation, /m without",)),
    ],
)
def test_commands_are_compared_flag_by_flag(speculating: list[str], said: tuple[str, ...]) -> None:
    """The measurement is about the flag of speculation. Every other difference has to be shown."""
    assert differences(speculating, BASELINE) == said


@pytest.mark.parametrize("name", ["HF_TOKEN", "AWS_SECRET_ACCESS_KEY", "OPENAI_API_KEY", "DB_PASSWORD", "KEY"])
def test_secrets_are_not_shown(name: str) -> None:
    """Users share reports."""
    assert environment([{"name": name, "value": "hush"}]) == (f"{name}=(hidden)",)


def test_other_variables_are_shown() -> None:
    """They affect the speed as flags do. A value from a Secret or a field is only named."""
    given: list[dict[str, object]] = [
        {"name": "OMP_NUM_THREADS", "value": "8"},
        {"name": "KEYBOARD", "value": "de"},
        {"name": "POD", "valueFrom": {"fieldRef": {}}},
    ]
    assert environment(given) == ("OMP_NUM_THREADS=8", "KEYBOARD=de", "POD=(from elsewhere)")


def test_a_node_shows_its_hardware_and_not_its_name() -> None:
    """Devices, processor and instance type by the usual labels."""
    labels = {"kubernetes.io/hostname": "secret-7", "nvidia.com/gpu.product": "H100", "team": "a"}
    capacity = {"cpu": "8", "memory": "32Gi", "pods": "110", "nvidia.com/gpu": "1", "ephemeral-storage": "1"}
    status = {"capacity": capacity, "nodeInfo": {"osImage": "Debian", "machineID": "1234"}}
    found = node_of({"metadata": {"name": "secret-7", "labels": labels}, "status": status})
    assert found.labels == {"nvidia.com/gpu.product": "H100"}
    assert found.capacity == {"cpu": "8", "memory": "32Gi", "nvidia.com/gpu": "1"}
    assert found.system == {"osImage": "Debian"}
    assert not node_of(None).readable


def pod(*args: str) -> dict[str, object]:
    engine = {
        "name": "kserve-container",
        "command": ["run"],
        "args": [*args],
        "env": [{"name": "INFERENCE_SERVICE_NAME", "value": "llama"}],
    }
    return {
        "spec": {"nodeName": "one", "containers": [{"name": "sidecar"}, engine]},
        "status": {"containerStatuses": [{"name": "kserve-container", "imageID": "sha256:1"}]},
    }


def test_a_side_is_what_its_engine_container_runs() -> None:
    """Entry point and flags, and the digest of the image. Equal nodes are shown once."""
    found = running([pod("--a"), pod("--a")], {"one": None, "two": None}, "0.32.0")
    assert (found.pods, found.command, found.image_id, len(found.nodes)) == (2, ("run", "--a"), "sha256:1", 1)
    assert found.environment == ()


def test_a_context_shows_what_was_compared() -> None:
    """Models, method, K, KServe, and the other differences."""
    side = running([pod("--a", "--speculative-config={}")], {"one": None}, "0.32.0")
    other = running([pod("--a", "--b=1")], {"one": None}, "0.32.0")
    found = context(service(model={"uri": "pvc://models", "path": "target"}), "now", side, other)
    assert (found.model, found.draft) == ("pvc://models, folder target", "hf://meta/draft")
    assert (found.method, found.tokens, found.guard_mode) == ("draft_model", 4, "Enforce")
    assert found.kserve == "0.20 (the CRD is of 0.20)"
    assert found.other_differences == ("--b: not set with speculation, 1 without",)
