"""What the operator sees of pods and Deployments, from their bodies as Kubernetes writes them."""

import pytest
from tests.unit.bodies import crashed, ended, make_deployment, make_pod, running, termination, waiting
from tests.unit.builders import Body

from specdec_operator.observe.pods import ContainerView, DeploymentView, PodView, deployment_view, pod_view

POD = {"name": "llama-predictor-1", "ip": "10.0.0.7", "ready": False, "deleting": False}
KNOWN = POD | {"revision": "r1", "dial_revision": "r1"}
SIDECAR = ContainerView(name="sidecar", running=True, ends=9)


@pytest.mark.parametrize(
    ("engine", "seen"),
    [
        (running(), {}),
        (running(2, termination(1)), {"ends": 2, "exit_code": 1, "ended": "Error"}),
        (
            ended(78, message="words"),
            {"ends": 1, "exit_code": 78, "ended": "Error", "message": "words"},
        ),
        (
            crashed(137, times=3, reason="OOMKilled"),
            {
                "ends": 3,
                "exit_code": 137,
                "ended": "OOMKilled",
                "waiting": "CrashLoopBackOff",
                "waiting_words": "back-off 40s restarting failed container",
            },
        ),
        (waiting("ContainerCreating"), {"waiting": "ContainerCreating"}),
        (waiting("ErrImagePull", "not found"), {"waiting": "ErrImagePull", "waiting_words": "not found"}),
    ],
)
def test_the_engines_container_is_read_and_no_other(engine: Body, seen: Body) -> None:
    """A sidecar that restarts is not the engine's fault."""
    expected = ContainerView(**{"name": "kserve-container", "running": "running" in engine["state"]} | seen)
    assert pod_view(make_pod(ready=False, engine=engine)) == PodView(**KNOWN, engine=expected, helpers=(SIDECAR,))


def test_a_pod_that_is_not_scheduled_has_the_reason() -> None:
    """It has no address and no containers yet."""
    seen = pod_view(make_pod(unscheduled="0/1 nodes are available: 1 Insufficient nvidia.com/gpu."))
    expected = {"ip": None, "pending": "0/1 nodes are available: 1 Insufficient nvidia.com/gpu."}
    assert seen == PodView(**KNOWN | expected)


def test_a_pod_has_the_time_since_which_it_waits_or_is_ready() -> None:
    """In the cluster's time. A warm-up and the scheduler's patience count from there."""
    waits = pod_view(make_pod(unscheduled="no node", since="2026-11-20T10:00:05Z"))
    assert (waits.pending_since, waits.ready_since) == (1795168805.0, None)
    serves = pod_view(make_pod(since="2026-11-20T10:00:05Z"))
    assert (serves.pending_since, serves.ready_since) == (None, 1795168805.0)


def test_a_new_pod_has_no_status() -> None:
    """The watch reports it before the scheduler and the kubelet do."""
    assert pod_view({"metadata": {"name": "p"}}) == PodView(
        name="p", revision=None, ip=None, ready=False, deleting=False
    )


def test_a_pod_that_is_being_deleted_is_known_as_such() -> None:
    """It still answers for a while, and its status is still ready."""
    seen = pod_view(make_pod(deleting=True))
    assert (seen.ready, seen.deleting) == (True, True)


def test_zeros_that_kubernetes_leaves_out_are_zeros() -> None:
    """A Deployment without a ready pod has no availableReplicas at all."""
    assert deployment_view(make_deployment(replicas=2, updated=1, available=0, total=2)) == DeploymentView(
        revision="r1", observed=True, replicas=2, updated=1, available=0, total=2
    )


@pytest.mark.parametrize(
    ("spec", "status", "on_host"),
    [
        ({}, {}, False),
        ({"hostNetwork": False}, {"hostIP": "192.0.2.1"}, False),
        ({"hostNetwork": True}, {}, True),
        ({}, {"hostIP": "10.0.0.7"}, True),
    ],
)
def test_a_pod_with_the_address_of_its_node_is_known_as_such(spec: Body, status: Body, on_host: bool) -> None:
    """By its spec, or by a status that another client has written."""
    body = make_pod()
    body["spec"] = {**body.get("spec", {}), **spec}
    body["status"] |= status
    assert pod_view(body).on_host is on_host


def test_a_new_deployment_is_not_observed() -> None:
    """Numbers of an older generation show nothing about this one."""
    assert not deployment_view(make_deployment(seen=False)).observed
    assert not deployment_view({"metadata": {"generation": 1}, "spec": {}}).observed
