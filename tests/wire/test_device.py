"""The device is found out on a real API server: by the labels of the nodes that the pod may land on."""

from tests.wire.api import Api, Object
from tests.wire.operator import OperatorProcess
from tests.wire.world import World, sis

POOL = "pool-of-a-test"


async def _node(api: Api, name: str, **labels: str) -> None:
    gpu = {f"nvidia.com/gpu.{part}": value for part, value in labels.items()}
    body: Object = {"metadata": {"name": name, "labels": {"pool": POOL} | gpu}}
    await api.call("post", "/api/v1/nodes", {"apiVersion": "v1", "kind": "Node"} | body)


async def test_the_smallest_device_of_the_chosen_nodes_is_planned_for(world: World, operator: OperatorProcess) -> None:
    """Another node counts only where the pod may land on it; what was found stays, whatever comes later."""
    names = [f"{world.namespace}-{number}" for number in range(3)]
    await _node(world.api, names[0], memory="81920", product="NVIDIA-A100-SXM4-80GB")
    await _node(world.api, names[1], product="NVIDIA-A30")
    try:
        engine = {"accelerator": "nvidia", "version": "0.19.1"}
        await world.apply(sis(engine=engine, pod={"nodeSelector": {"pool": POOL}}))
        args = (await world.child())["spec"]["predictor"]["model"]["args"]
        assert "--gpu-memory-utilization=0.83" in args
        await _node(world.api, names[2], memory="9728")
        await world.turned(operator)
        memory = (await world.status())["memory"]
        assert memory["device"] == 24_576 * 1024**2
        assert memory["deviceSource"].endswith("the smallest of 2")
    finally:
        for name in names:
            await world.api.call("delete", f"/api/v1/nodes/{name}", {})
