"""The device of a service is found out once, at the edge, and stays what it was while its pods may stay."""

from typing import Any

from tests.unit.stage import Stage

GPU = {"accelerator": "nvidia", "version": "0.19.1"}
A100, L4 = {"nvidia.com/gpu.memory": "81920"}, {"nvidia.com/gpu.memory": "23034"}


def share(stage: Stage) -> str:
    """The flag that the InferenceService has."""
    args: list[str] = stage.args
    return next((each.partition("=")[2] for each in args if each.startswith("--gpu-memory-utilization")), "")


async def served(*nodes: dict[str, str], **sis: Any) -> Stage:
    """A service that was applied once on a cluster with these nodes."""
    stage = Stage(engine=GPU, **sis)
    stage.cluster.nodes = list(nodes)
    await stage.turn()
    return stage


async def test_the_nodes_decide_the_share_and_the_status_shows_it() -> None:
    """1.5 GiB that vLLM 0.19 does not count are more of a small device than of a large one."""
    small, large = await served(L4), await served(A100)
    assert (share(small), share(large)) == ("0.83", "0.85")
    memory = small.cluster.status["memory"]
    assert (memory["device"], memory["deviceSource"]) == (23_034 * 1024**2, "label nvidia.com/gpu.memory")


async def test_a_new_node_replaces_no_pods() -> None:
    """A restart of the operator replaces none either. Another pod or other resources mean another lookup."""
    stage = await served(A100)
    stage.cluster.nodes = [A100, L4]
    stage.restart()
    await stage.turn()
    assert (share(stage), stage.cluster.status["memory"]["device"]) == ("0.85", 81_920 * 1024**2)
    stage.sis |= {"generation": 2, "pod": {"nodeSelector": {"pool": "gpu"}}}
    await stage.turn()
    assert share(stage) == "0.83"
    assert stage.cluster.listed[-1] == "pool=gpu"


async def test_nodes_are_listed_for_many_services_at_once() -> None:
    """And not at all where the device is known, or where there is no speculation to plan for."""
    stage = await served(A100)
    for _ in range(3):
        stage.wake()
        await stage.turn()
    assert stage.cluster.listed == [""]
    for sis in ({"memory": {"device": "24Gi"}}, {"speculation": None}):
        assert (await served(A100, **sis)).cluster.listed == []


async def test_a_missing_permission_to_list_nodes_is_shown() -> None:
    """The operator plans the service with a reserve, and the service runs."""
    stage = Stage(engine=GPU)
    stage.cluster.nodes = None
    await stage.turn()
    assert share(stage) == "0.85"
    memory = stage.cluster.status["memory"]
    assert "device" not in memory
    assert memory["deviceSource"] == (
        "unknown: the operator has no permission to list nodes (chart: rbac.nodes); set spec.memory.device"
    )


async def test_the_spec_wins_at_once_and_is_forgotten_at_once() -> None:
    """A size from the spec is not kept as a size of the nodes."""
    stage = await served(A100, memory={"device": "24Gi"})
    assert stage.cluster.status["memory"]["deviceSource"] == "spec.memory.device"
    stage.sis |= {"generation": 2, "memory": {}}
    await stage.turn()
    assert stage.cluster.status["memory"]["device"] == 81_920 * 1024**2
