"""Mistakes of new users on a real node: the sis's conditions show each of them and name the fix."""

import asyncio

from tests.node.firewall import closed_to
from tests.node.service import ENGINE, Service, Traffic
from tests.wire.api import POD, Object

NGRAM = {"method": "ngram", "tokens": 3, "ngram": {"lookupMin": 2, "lookupMax": 4}}
OPERATORS = "specdec-system"


async def _operator_address(service: Service) -> str:
    pods = await service.api.items(POD, OPERATORS)
    (running,) = [each for each in pods if each["status"]["phase"] == "Running"]
    address: str = running["status"]["podIP"]
    return address


async def test_unreachable_metrics_are_reported_and_cause_no_rollback(service: Service) -> None:
    """Clients and the kubelet reach the pod, the operator does not: Inconclusive, with the policy named as a cause."""
    await service.apply(NGRAM, window="3s")
    await service.phase("Watching")
    (pod,) = await service.api.items(POD, service.namespace)
    with closed_to(pod, await _operator_address(service), 8080):
        async with Traffic(service, "code"):
            said: Object = await service.condition("GuardPassing", "ScrapeFailed", 60)
        assert said["status"] == "Unknown"
        assert "no answer within 5 s; a NetworkPolicy may block the operator" in said["message"]
        status = await service.status()
        assert status["phase"] == "Watching"
        assert status["guard"]["failures"] == 0
    async with Traffic(service, "code"):
        await service.condition("SpeculationActive", "Drafting", 60)


async def test_an_accelerator_that_the_cluster_lacks_is_reported(service: Service) -> None:
    """No node has a GPU here: the condition has the scheduler's message, and names the device plugin and the field."""
    await service.apply(NGRAM, {"engine": {"accelerator": "nvidia"}})
    ready = await service.condition("Ready", "Unschedulable")
    assert "Insufficient nvidia.com/gpu" in ready["message"]
    assert "device plugin must advertise it" in ready["message"]
    assert "spec.engine.accelerator" in ready["message"]


async def test_a_missing_runtime_is_reported_and_can_be_corrected(service: Service) -> None:
    """The condition has KServe's message and the command that installs runtimes; a right name makes the sis go on."""
    await service.apply(NGRAM, {"engine": ENGINE | {"runtime": "nowhere"}})
    ready = await service.condition("Ready", "RuntimeNotRecognized")
    assert "ClusterServingRuntime nowhere" in ready["message"]
    assert "kubectl apply -k manifests/runtimes" in ready["message"]
    await service.apply(NGRAM)
    await asyncio.sleep(1)
    await service.phase("WarmingUp", "Watching", seconds=120)
