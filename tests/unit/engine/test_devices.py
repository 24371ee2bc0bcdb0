"""How much memory a device has: who is asked first, and how each writes it."""

import json
from typing import Any

import pytest

from specdec_engine.memory.plan import DeviceMemory
from specdec_engine.memory.products import MIB, product_memory
from specdec_operator.engine.devices import device_of
from specdec_operator.errors import Invalid

GIB = 1024**3
L4 = {"nvidia.com/gpu.memory": "23034", "nvidia.com/gpu.product": "NVIDIA-L4"}
A100 = {"nvidia.com/gpu.memory": "81920", "nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB"}
HAMI = {"hami.io/node-nvidia-register": json.dumps([{"id": "a", "devmem": 24_576}, {"id": "b", "devmem": 16_384}])}
NPU_HAMI = {"hami.io/node-register-Ascend910B3": json.dumps([{"id": "a", "devmem": 65_536}])}


def found(
    *nodes: dict[str, str], accelerator: str = "nvidia", limits: dict[str, str] | None = None, **spec: Any
) -> DeviceMemory:
    """The device of a service whose pod may land on these nodes."""
    asked = {"resources": {"limits": limits}} if limits else {}
    return device_of({"engine": {"accelerator": accelerator}, **asked, **spec}, nodes)


@pytest.mark.parametrize(
    ("node", "mib", "source"),
    [
        (L4, 23_034, "label nvidia.com/gpu.memory"),
        ({"karpenter.k8s.aws/instance-gpu-memory": "24576"}, 24_576, "label karpenter.k8s.aws/instance-gpu-memory"),
        (HAMI, 16_384, "annotation hami.io/node-nvidia-register"),
        (
            {"cloud.google.com/gke-accelerator": "nvidia-h100-80gb"},
            81_559,
            "nvidia-h100-80gb (label cloud.google.com/gke-accelerator) in the table of published products",
        ),
    ],
)
def test_a_node_shows_its_gpus(node: dict[str, str], mib: int, source: str) -> None:
    """A size counts before a name. Of HAMi's list the smallest counts."""
    assert found(node) == DeviceMemory(bytes=mib * MIB, source=source)


@pytest.mark.parametrize(
    ("node", "gib"),
    [
        ({"mind-cluster/npu-chip-memory": "64G", "node.kubernetes.io/npu.chip.name": "910B4"}, 64),
        ({"node.kubernetes.io/npu.chip.name": "910B4"}, 32),
        ({"node.kubernetes.io/npu.chip.name": "910B4-1"}, 64),
        (NPU_HAMI, 64),
    ],
)
def test_a_node_shows_its_npus(node: dict[str, str], gib: int) -> None:
    """Huawei's plugin writes gigabytes, which are 1024 MiB each."""
    assert found(node, accelerator="ascend").bytes == gib * GIB


def test_the_smallest_counts() -> None:
    """The node of the pod is not known in advance. A node without such a device does not count."""
    made = found(A100, {"node.kubernetes.io/npu.chip.name": "910B3"}, {}, L4)
    assert made == DeviceMemory(bytes=23_034 * MIB, source="label nvidia.com/gpu.memory, the smallest of 2")
    assert found(L4, L4).source == "label nvidia.com/gpu.memory"


def test_the_spec_counts_first() -> None:
    """The user's amount wins over the node's label. An invalid amount is refused."""
    assert found(L4, memory={"device": "40Gi"}) == DeviceMemory(bytes=40 * GIB, source="spec.memory.device")
    with pytest.raises(Invalid, match=r"spec\.memory\.device"):
        found(memory={"device": "much"})


def test_a_node_selector_is_enough_without_reading_nodes() -> None:
    """The product that the selector requires is known without a cluster."""
    made = found(pod={"nodeSelector": {"nvidia.com/gpu.product": "NVIDIA-A10"}})
    assert made.bytes == 23_028 * MIB


@pytest.mark.parametrize(
    ("limits", "mib"),
    [
        ({"nvidia.com/gpu": "1", "nvidia.com/gpumem": "8000"}, 8000),
        ({"nvidia.com/gpu": "1", "nvidia.com/gpumem-percentage": "50"}, 11_517),
        ({"nvidia.com/gpu": "1", "nvidia.com/gpumem": "90000"}, 23_034),
        ({"volcano.sh/vgpu-memory": "8192"}, 8192),
        ({"nvidia.com/mig-1g.5gb": "1"}, 4864),
        ({"nvidia.com/gpumem": "lots", "memory": "3Gi"}, 23_034),
    ],
)
def test_a_part_of_a_device_is_the_device(limits: dict[str, str], mib: int) -> None:
    """A container that gets 8000 MiB of 23034 has 8000; never more than the whole."""
    assert found(L4, limits=limits).bytes == mib * MIB


def test_a_slice_is_read_from_its_own_label() -> None:
    """A GPU that is divided in several ways also has a label with its whole memory."""
    node = A100 | {"nvidia.com/mig-3g.40gb.memory": "40320", "nvidia.com/mig-1g.10gb.memory": "9728"}
    made = found(node, limits={"nvidia.com/mig-1g.10gb": "1"})
    assert made.bytes == 9728 * MIB
    assert found(node, limits={"nvidia.com/mig-3g.40gb": "1"}).bytes == 38_912 * MIB  # by its name, the smaller


def test_npu_memory_is_named_by_hami() -> None:
    """huawei.com/Ascend910B-memory is in MiB."""
    assert found(accelerator="ascend", limits={"huawei.com/Ascend910B-memory": "4096"}).bytes == 4 * GIB


def test_unknown_memory_has_a_reason_and_a_fix() -> None:
    """A register that is not JSON, a label that is not a number, a name that is not in a table."""
    broken = {"hami.io/node-nvidia-register": "GPU-1,10,24576:", "nvidia.com/gpu.memory": "much"}
    made = found(broken, {"nvidia.com/gpu.product": "NVIDIA-Z9"}, {"hami.io/node-nvidia-register": "[3, {}]"})
    assert made == DeviceMemory(source="unknown: no eligible node reports it; set spec.memory.device")
    forbidden = device_of({"engine": {"accelerator": "nvidia"}}, unread="nobody may look")
    assert forbidden.source == "unknown: nobody may look; set spec.memory.device"


def test_on_a_cpu_the_container_is_the_device() -> None:
    """Its nodes' labels are about something else."""
    limited = found(L4, accelerator="cpu", limits={"memory": "24Gi"})
    assert limited == DeviceMemory(bytes=24 * GIB, source="spec.resources.limits.memory")
    for limits in (None, {"memory": "all of it"}):
        assert found(L4, accelerator="cpu", limits=limits) == DeviceMemory(
            source="unknown: the container has no readable memory limit; set spec.resources.limits"
        )


@pytest.mark.parametrize(
    ("name", "mib"),
    [
        ("NVIDIA-A10", 23_028),
        ("NVIDIA-A100-SXM4-40GB", 40_960),
        ("NVIDIA-A100-80GB-PCIe", 81_920),
        ("NVIDIA-A100-SXM4-40GB-MIG-1g.5gb", 4864),
        ("NVIDIA-H100-80GB-HBM3", 81_559),
        ("NVIDIA-H100-NVL", 95_830),
        ("NVIDIA-H200-SHARED", 143_771),
        ("NVIDIA-B200", 183_359),
        ("NVIDIA-L40S", 46_068),
        ("NVIDIA-GeForce-RTX-4090", 24_564),
        ("Tesla-V100-SXM2-32GB", 32_768),
        ("Ascend910B3", 65_536),
        ("NVIDIA-RTX-A2000", None),
        ("", None),
    ],
)
def test_published_products(name: str, mib: int | None) -> None:
    """By whole words: an A10 is not an A100, and an L4 is not an L40."""
    assert product_memory(name) == (None if mib is None else mib * MIB)
