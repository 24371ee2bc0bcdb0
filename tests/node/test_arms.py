"""A plain arm on real parts: KServe's own Service spreads real clients over speculating and plain pods."""

import asyncio
from typing import Any

from tests.node.asking import Client
from tests.node.film import Film
from tests.node.service import Service, Traffic
from tests.node.test_guard import DRAFT
from tests.wire.api import DEPLOYMENT, POD, Object
from tests.wire.faults.table import Part, fault

ARM = {"serving.specdec.io/arm": "plain"}
OPERATOR = "specdec-system"
FASTER: dict[str, Any] = {"acceptanceRate": {"min": 0}, "speedup": {"min": 1.0}, "baseline": "None"}


async def ready(service: Service, *, plain: bool) -> list[str]:
    """The pods of one arm that are ready and stay."""
    pods = [each for each in await service.api.items(POD, service.namespace) if is_plain(each) is plain]
    return [
        each["metadata"]["name"]
        for each in pods
        if "deletionTimestamp" not in each["metadata"]
        and "serving.specdec.io/revision" in each["metadata"].get("labels", {})
        and any((some["type"], some["status"]) == ("Ready", "True") for some in each["status"].get("conditions", ()))
    ]


def is_plain(pod: Object) -> bool:
    """Whether it is of the plain arm."""
    return ARM.items() <= pod["metadata"].get("labels", {}).items()


async def arms_gone(service: Service) -> bool:
    """Whether neither the arm's Deployment nor a pod of it is left."""
    deployments = await service.api.items(DEPLOYMENT, service.namespace)
    pods = await service.api.items(POD, service.namespace)
    return not any(ARM.items() <= each["metadata"].get("labels", {}).items() for each in [*deployments, *pods])


async def events(service: Service) -> list[str]:
    """The reasons of the sis's Events."""
    found = await service.api.items(("v1", "events"), service.namespace)
    return [each["reason"] for each in found if each["involvedObject"]["kind"] == "SpeculativeInferenceService"]


@fault(
    part=Part.CLUSTER,
    when="a draft is slower than plain pods beside it, and the operator is killed meanwhile, under traffic",
    then="speculation is taken out by what both arms show; no request fails while pods of both come and go",
)
async def test_a_slow_draft_is_taken_out_beside_a_plain_pod(service: Service, film: Film) -> None:
    """The plain pod stays all the time; the drift prompts are slower with the draft, at the same moment."""
    control = {"mode": "Always", "replicas": 1}
    await service.apply(DRAFT, {"rollout": {"strategy": "Surge", "deadline": "10m"}}, control=control, **FASTER)
    await film.phase("Watching", 0, 300)
    asking = Client(service, film)
    await asking.start("drift", ("fresh",) * 4)  # a connection that is kept stays with its pod, and the shares differ
    try:
        await service.until("a plain pod", lambda: ready(service, plain=True), 240)
        operators = await service.api.items(POD, OPERATOR)
        await service.api.delete(POD, OPERATOR, operators[0]["metadata"]["name"])
        await film.plain(0, 300)
        status = await service.phase("RolledBack", seconds=300)
        await service.until("the plain arm gone", lambda: arms_gone(service), 120)
        await asyncio.sleep(5.0)
        tally = await asking.tally()
    finally:
        await asking.stop()
    print(status["guard"]["rollback"]["message"], tally)
    assert status["guard"]["rollback"]["reason"] == "SlowerThanPlain"
    assert "beside plain pods" in status["guard"]["rollback"]["message"]
    assert tally["failed"] == 0, tally["faults"]
    assert tally["fresh"] >= 200


async def test_a_draft_in_doubt_is_acquitted_beside_a_plain_pod(service: Service) -> None:
    """Plain was never measured: one plain pod comes, settles it for the draft on code, and goes."""
    quick = {"rollout": {"strategy": "Surge", "deadline": "10m"}, "replicas": 2}
    guard = FASTER | {"speedup": {"min": 0.3}, "window": "10s"}  # three engines share two cores: the draft pays less
    await service.apply(DRAFT, quick, **guard)
    await service.phase("Watching", seconds=300)
    short = {"max_tokens": 12}  # ten requests a window are needed in each arm
    async with Traffic(service, "code", **short), Traffic(service, "code", **short), Traffic(service, "code", **short):
        condition = await service.condition("ComparingWithPlain", "NotMeasured", 120)
        assert "plain pods" in condition["message"]
        await service.until("a plain pod", lambda: ready(service, plain=True), 240)

        async def acquitted() -> bool:
            return "DraftAcquitted" in await events(service)

        await service.until("an acquittal", acquitted, 300)
    await service.until("the plain arm gone", lambda: arms_gone(service), 120)
    status = await service.status()
    assert status["phase"] == "Watching"
    assert status["guard"]["baseline"], "what plain did beside is what later windows are compared with"
    assert len(await ready(service, plain=False)) == 2
