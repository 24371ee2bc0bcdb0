"""The lines about a cluster in the report of a test that failed on it."""

from typing import Any

from tests.node.trouble import lines

_READY = {"type": "Ready", "status": "True"}


def pod(name: str, **status: Any) -> dict[str, Any]:
    return {"metadata": {"namespace": "n", "name": name}, "status": status}


def test_a_node_under_pressure_is_reported_with_its_taint() -> None:
    """Pressure is a condition that is true; readiness is one that is not."""
    conditions = [{"type": "DiskPressure", "status": "True", "message": "little disk"}, _READY | {"status": "Unknown"}]
    taints = [{"key": "node.kubernetes.io/disk-pressure", "effect": "NoSchedule"}]
    node = {"metadata": {"name": "a"}, "spec": {"taints": taints}, "status": {"conditions": conditions}}
    assert lines([node], [], []) == [
        "node a: DiskPressure=True (little disk), Ready=Unknown (), taint node.kubernetes.io/disk-pressure:NoSchedule"
    ]


def test_a_pod_is_reported_with_the_reason_for_its_wait() -> None:
    """A pod without a node has the scheduler's message, one with a node its containers' reasons."""
    away = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/1 nodes"}
    waiting = {"name": "main", "state": {"waiting": {"reason": "ErrImageNeverPull", "message": "not there"}}}
    ended = {"name": "copy", "state": {"terminated": {"reason": "Error"}}}
    pods = [
        pod("first", phase="Pending", conditions=[away]),
        pod("second", phase="Pending", initContainerStatuses=[ended], containerStatuses=[waiting]),
        pod("third", phase="Failed", reason="Evicted", message="low on memory"),
    ]
    assert lines([], pods, []) == [
        "pod n/first: Pending; Unschedulable: 0/1 nodes",
        "pod n/second: Pending; copy terminated: Error; main waiting: ErrImageNeverPull not there",
        "pod n/third: Failed Evicted low on memory",
    ]
