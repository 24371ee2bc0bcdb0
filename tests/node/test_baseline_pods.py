"""Baseline pods on real parts: KServe's own Service spreads real clients over speculating and baseline pods."""

import asyncio
import os
from typing import Any

import pytest

from tests.node.asking import Client
from tests.node.film import Film
from tests.node.service import Crowd, Service
from tests.node.test_guard import DRAFT
from tests.wire.api import DEPLOYMENT, POD, Object
from tests.wire.faults.table import Part, fault

BASELINE = {"serving.specdec.io/arm": "plain"}
OPERATOR = "specdec-system"
TIMES = int(os.environ.get("SPECDEC_TIMES", "1"))
CONNECTIONS = int(os.environ.get("SPECDEC_CONNECTIONS", "4"))
"""How often a baseline pod starts and stops, and how many clients send requests meanwhile. To see 10,000 requests, set
more than in a usual run.
"""
UNASKED: dict[str, Any] = {"acceptanceRate": {"min": 0}, "baseline": "None", "dial": {"mode": "Off"}}
"""Without a dial: dips would decide before baseline pods do (tests/node/test_dialled_pods.py)."""
FASTER: dict[str, Any] = UNASKED | {"speedup": {"min": 1.0}}


async def ready(service: Service, *, baseline: bool) -> list[str]:
    """The pods of one arm that are ready and stay."""
    pods = [each for each in await service.api.items(POD, service.namespace) if is_baseline(each) is baseline]
    return [
        each["metadata"]["name"]
        for each in pods
        if "deletionTimestamp" not in each["metadata"]
        and "serving.specdec.io/revision" in each["metadata"].get("labels", {})
        and any((some["type"], some["status"]) == ("Ready", "True") for some in each["status"].get("conditions", ()))
    ]


def is_baseline(pod: Object) -> bool:
    """Whether it is a baseline pod."""
    return BASELINE.items() <= pod["metadata"].get("labels", {}).items()


async def baseline_pods_gone(service: Service) -> bool:
    """Whether the Deployment of the baseline pods and all its pods are deleted."""
    deployments = await service.api.items(DEPLOYMENT, service.namespace)
    pods = await service.api.items(POD, service.namespace)
    return not any(BASELINE.items() <= each["metadata"].get("labels", {}).items() for each in [*deployments, *pods])


@pytest.mark.alone
@fault(
    part=Part.CLUSTER,
    when="a draft is slower than the baseline pods next to it, and the operator is killed",
    then="rollback for the measured speeds; no request fails",
)
async def test_a_slow_draft_is_taken_out_with_a_baseline_pod(service: Service, film: Film) -> None:
    """A baseline pod starts and stops as often as configured; then the drift prompts are slower with the draft."""
    told = {"rollout": {"strategy": "Surge", "deadline": "10m"}}
    stays, goes = {"mode": "Always", "replicas": 1}, {"mode": "Never"}
    await service.apply(DRAFT, told, control=goes, **UNASKED)
    await film.phase("Watching", 0, 300)
    asking = Client(service, film)
    # a connection that is kept stays with its pod, and the shares differ
    await asking.start("drift", ("fresh",) * CONNECTIONS)
    try:
        for _ in range(TIMES):
            await service.apply(DRAFT, told, control=stays, **UNASKED)
            await service.until("a baseline pod", lambda: ready(service, baseline=True), 240)
            await service.apply(DRAFT, told, control=goes, **UNASKED)
            await service.until("no baseline pods", lambda: baseline_pods_gone(service), 120)
        await service.apply(DRAFT, told, control=stays, **FASTER)
        await service.until("a baseline pod", lambda: ready(service, baseline=True), 240)
        operators = await service.api.items(POD, OPERATOR)
        await service.api.delete(POD, OPERATOR, operators[0]["metadata"]["name"])
        await film.baseline(0, 300)
        status = await service.phase("RolledBack", seconds=300)
        await service.until("no baseline pods", lambda: baseline_pods_gone(service), 120)
        await asyncio.sleep(5.0)
        tally = await asking.tally()
    finally:
        await asking.stop()
    print(status["guard"]["rollback"]["message"], tally)
    assert status["guard"]["rollback"]["reason"] == "SlowerThanPlain"
    assert "compared with baseline pods" in status["guard"]["rollback"]["message"]
    assert tally["failed"] == 0, tally["faults"]
    assert tally["fresh"] >= 200


async def test_a_draft_that_pays_stays_when_prompts_become_four_times_as_long(service: Service) -> None:
    """Baselines of short prompts do not apply: a baseline pod starts, shows that the draft pays, and stops."""
    quick = {"rollout": {"strategy": "Surge", "deadline": "10m"}, "replicas": 2}
    # three engines share two cores, so speculation pays less than on devices of their own
    measured = FASTER | {"speedup": {"min": 0.4}, "baseline": "MeasureFirst", "window": "10s"}
    await service.apply(DRAFT, quick, **measured)
    await service.condition("Ready", "Serving", 240)
    async with Crowd(service, "code", 3, times=1, max_tokens=12):
        await service.phase("Watching", seconds=400)
    async with Crowd(service, "code", 3, times=4, max_tokens=12):
        condition = await service.condition("ComparingWithPlain", "NotMeasured", 180)
        assert "different traffic" in condition["message"]
        await service.until("a baseline pod", lambda: ready(service, baseline=True), 240)

        async def acquitted() -> bool:
            return "DraftAcquitted" in await service.events()

        await service.until("an acquittal", acquitted, 400)
    await service.until("no baseline pods", lambda: baseline_pods_gone(service), 120)
    status = await service.status()
    assert status["phase"] == "Watching"
    assert len(await ready(service, baseline=False)) == 2


@pytest.mark.parametrize(("least", "stays"), [(0.3, True), (3.0, False)], ids=["it was faster", "it was slower"])
async def test_one_pod_serves_the_baseline_for_a_while_and_the_faster_one_stays(
    service: Service, least: float, *, stays: bool
) -> None:
    """More requests at once than plain was seen with are in doubt; it goes back and forth once."""
    surge = {"rollout": {"strategy": "Surge", "deadline": "10m"}}
    asked = FASTER | {"speedup": {"min": least}, "baseline": "MeasureFirst", "window": "8s", "failureLimit": 3}
    await service.apply(DRAFT, surge, **asked)
    await service.condition("Ready", "Serving", 240)
    async with Crowd(service, "code", 1, times=1, max_tokens=12):
        await service.phase("Watching", seconds=400)
    async with Crowd(service, "code", 5, times=1, max_tokens=12):
        await service.phase("Responding", seconds=240)
        status = await service.phase("RolledBack", seconds=240)
        assert "provisional" in status["guard"]["rollback"]["message"]
        status = await service.phase("Watching" if stays else "RolledBack", seconds=300)

        async def settled() -> Object | None:
            status = await service.status()
            over = "trial" not in status["guard"].get("rollback", {})
            return status if over else None

        status = await service.until("the end of the trial", settled, 300)
    print(status["guard"].get("rollback"), [each["message"] for each in status["history"]])
    assert ("rollback" in status["guard"]) is not stays
    assert status["guard"]["rollbacks"] == 1
