"""What people and other programs do to the objects: everything of ours is put back, and no decision moves."""

import time
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Any

import pytest

from tests.wire.api import ISVC, SIS, Object, Refused
from tests.wire.faults.acts import (
    baseline_pods,
    busy,
    responding,
    rolled_back,
    rolled_back_once,
    still_speculating,
    watched,
)
from tests.wire.faults.foreign import removed
from tests.wire.faults.steps import deleted_and_made_again
from tests.wire.faults.table import Part, fault
from tests.wire.faults.verdict import decided_once
from tests.wire.operator import OperatorProcess
from tests.wire.world import NAME, World, is_speculative, sis

PREDICTOR = ("spec", "predictor")
NEWER = ("blamed", "judged", "measuring", "attempted", "service", "thresholds", "fewerTokens", "lastGood", "baseline")
"""Fields of status.guard that the first operator did not write."""


def _at(path: tuple[str, ...], value: Any) -> Object:
    """A merge patch that sets one thing."""
    for key in reversed(path):
        value = {key: value}
    return value  # type: ignore[no-any-return]


EDITS: dict[str, Object] = {
    "flags": _at((*PREDICTOR, "model", "args"), ["--model=/mnt/target/model"]),
    "image": _at((*PREDICTOR, "model", "modelFormat"), {"name": "sklearn"}),
    "replicas": _at(PREDICTOR, {"minReplicas": 7, "maxReplicas": 7}),
    "revision": _at((*PREDICTOR, "labels", "serving.specdec.io/revision"), "mine"),
    "label": _at(("metadata", "labels", "serving.specdec.io/name"), None),
    "owner": _at(("metadata", "ownerReferences"), None),
    "mode": _at(("metadata", "annotations", "serving.kserve.io/deploymentMode"), None),
}


async def _ours(world: World) -> Object:
    """The fields that the operator sets in the InferenceService."""
    found = await world.api.get(ISVC, world.namespace, NAME) or {"metadata": {}, "spec": {}}
    meta = found["metadata"]
    kept = {key: meta.get(key) for key in ("labels", "annotations", "ownerReferences")}
    kept["annotations"] = {k: v for k, v in (kept["annotations"] or {}).items() if k != "team"}
    return {"spec": found["spec"], **kept}


@fault(
    part=Part.OBJECTS,
    when="a user edits the InferenceService",
    then="reverted; annotations of others stay",
)
@pytest.mark.parametrize("name", EDITS)
async def test_an_edited_inference_service_is_put_back(world: World, operator: OperatorProcess, name: str) -> None:
    """Spec, label, annotations and owner are ours; an annotation that another client adds is not."""
    await watched(world, busy())
    await world.api.merge(ISVC, world.namespace, NAME, _at(("metadata", "annotations", "team"), "a"))
    before = await _ours(world)
    await world.api.merge(ISVC, world.namespace, NAME, EDITS[name])

    async def put_back() -> bool:
        return await _ours(world) == before

    await world.until(f"{name} as before", put_back)
    assert (await world.child())["metadata"]["annotations"]["team"] == "a"
    await still_speculating(world)


async def test_kserve_itself_refuses_another_mode(world: World, operator: OperatorProcess) -> None:
    """To another one: its webhook refuses that once it has made something of the InferenceService."""
    await watched(world, busy())
    other = _at(("metadata", "annotations", "serving.kserve.io/deploymentMode"), "Knative")
    with pytest.raises(Refused, match="deploymentMode cannot be changed from 'Standard' to 'Knative'"):
        await world.api.merge(ISVC, world.namespace, NAME, other)
    await still_speculating(world)


async def _wipe(world: World) -> None:
    """Replaces the whole status with nothing, and waits until it is there again."""
    await world.replace(sis())

    async def bare() -> bool:
        try:
            await world.api.call("put", f"{world.api.path(SIS, world.namespace, NAME)}/status", await _bare(world))
        except Refused as error:
            if error.status != HTTPStatus.CONFLICT:
                raise
            return False
        return True

    await world.until("the status is replaced", bare)

    async def told() -> bool:
        status = await world.status()
        return status.get("phase") is not None and "guard" in status and bool(status.get("history"))

    await world.until("a status again", told)


ACTS: dict[str, Callable[[World], Awaitable[None]]] = {"deleted": deleted_and_made_again, "wiped": _wipe}


@fault(
    part=Part.OBJECTS,
    when="the InferenceService is deleted, or the status emptied, during a rollback",
    then="the operator makes it again; once",
)
@pytest.mark.parametrize("act", ACTS)
async def test_a_loss_in_each_phase_changes_no_decision(world: World, operator: OperatorProcess, act: str) -> None:
    """RollingOut, WarmingUp, Watching, Responding, RolledBack: what was lost is back, and the decision is one.

    With the InferenceService its Deployment and its pods go, and come again.
    """
    engine, baseline, lose = busy(), busy(speculative=False), ACTS[act]
    await world.apply(sis(guard={"warmup": "2s"}))
    await world.phase("RollingOut")
    await lose(world)
    await world.roll_out(await world.child(speculative=True), engine)
    await world.phase("WarmingUp")
    await lose(world)
    await world.roll_out(await world.child(speculative=True), engine)
    await world.phase("Watching")
    await lose(world)
    await world.roll_out(await world.child(speculative=True), engine)
    await still_speculating(world)
    engine.acceptance = 0.0
    await world.phase("Responding")
    await lose(world)
    await world.roll_out(await world.child(speculative=False), baseline)
    await world.phase("RolledBack")
    await lose(world)
    await world.roll_out(await world.child(speculative=False), baseline)
    await world.turned(operator)
    await decided_once(world, "AcceptanceRateLow")


@fault(
    part=Part.OBJECTS,
    when="the status is emptied while no operator runs",
    then="the decision is lost",
)
async def test_a_status_that_is_emptied_without_an_operator_is_decided_again(
    world: World, operator: OperatorProcess
) -> None:
    """What cannot survive: nothing else in the cluster knows of the decision. It is made again, by evidence."""
    await rolled_back(world)
    await operator.stop()
    await world.api.call("put", f"{world.api.path(SIS, world.namespace, NAME)}/status", await _bare(world))
    await operator.start()
    engine = busy(acceptance=0.0)
    await world.roll_out(await world.child(speculative=True), engine)
    await baseline_pods(world)
    await decided_once(world, "AcceptanceRateLow")


async def _bare(world: World) -> Object:
    whole = await world.sis()
    return {key: whole[key] for key in ("apiVersion", "kind", "metadata", "spec")} | {"status": {}}


@fault(
    part=Part.OPERATOR,
    when="the status of an older operator lacks fields",
    then="the decision is unchanged",
)
async def test_a_status_of_an_older_operator_is_read(world: World, operator: OperatorProcess) -> None:
    """A missing field has a meaning; it does not make the operator decide again."""
    await rolled_back(world)
    await operator.stop()
    whole = await world.sis()
    for field in NEWER:
        whole["status"]["guard"].pop(field, None)
    await world.api.call("put", f"{world.api.path(SIS, world.namespace, NAME)}/status", whole)
    await operator.start()

    async def written() -> bool:
        return "service" in (await world.status())["guard"]

    await world.until("the newer operator's status", written)
    assert not is_speculative(await world.child())
    await decided_once(world, "AcceptanceRateLow")


@fault(
    part=Part.OBJECTS,
    when="another controller fights for the InferenceService",
    then="at most six writes a minute; Contested names it",
)
async def test_two_controllers_that_fight_write_little(world: World, operator: OperatorProcess) -> None:
    """The other controller undoes each write of ours at once: ours become rarer, and the status names that one."""
    await watched(world, busy())
    other = {"apiVersion": ISVC[0], "kind": "InferenceService", "metadata": {"name": NAME}}
    other |= _at(PREDICTOR, {"minReplicas": 7, "maxReplicas": 7})
    path, begun = world.api.path(ISVC, world.namespace, NAME), time.monotonic()

    async def ours() -> bool:
        return bool((await world.child())["spec"]["predictor"]["minReplicas"] != 7)

    for _ in range(5):  # as it was made, put back at once, then after 2 s, 4 s and 8 s
        await world.until("put back", ours)
        words = {"content_type": "application/apply-patch+yaml", "field_manager": "rival", "force_conflicts": True}
        await world.api.call("patch", path, other, **words)
    assert time.monotonic() - begun > 13.0, "each time later"
    said = await world.told("Contested")
    assert said["message"].startswith("rival changes the InferenceService"), said
    await world.event("Contested")
    assert (await world.events()).count("Contested") == 1
    await still_speculating(world)


@fault(
    part=Part.OBJECTS,
    when="a service is deleted during its rollback, or while no operator runs",
    then="its InferenceService is not made again",
)
@pytest.mark.parametrize("away", [False, True], ids=["in-a-rollback", "operator-away"])
async def test_a_deleted_service_goes(world: World, operator: OperatorProcess, away: bool) -> None:
    """Nothing keeps it, and Kubernetes collects what the service owned."""
    await responding(world)
    if away:
        await operator.stop()
    await removed(world)
    if away:
        await operator.start()
    await world.gone(ISVC)
    assert await _children_beside_a_later_one(world) == []
    assert "Traceback" not in operator.log.read_text()


async def _children_beside_a_later_one(world: World) -> list[Object]:
    """The InferenceServices, once the operator has made that of another service: it has seen all that was before."""
    await world.api.apply(SIS, world.namespace, sis() | {"metadata": {"name": "later"}})

    async def there() -> bool:
        return await world.api.get(ISVC, world.namespace, "later") is not None

    await world.until("the later service's InferenceService", there)
    return [each for each in await world.api.items(ISVC, world.namespace) if each["metadata"]["name"] != "later"]


@fault(
    part=Part.OBJECTS,
    when="a service is deleted during a rollback and created again at once",
    then="no old decision; it waits until the old InferenceService is gone",
)
async def test_a_service_that_is_made_again_is_a_new_one(world: World, operator: OperatorProcess) -> None:
    """Same name, another object: nothing of the old one's guard is left."""
    await responding(world)
    await removed(world)
    made = await world.apply(sis())

    async def owned() -> bool:
        owners = (await world.child())["metadata"]["ownerReferences"]
        return [each["uid"] for each in owners] == [made["metadata"]["uid"]]

    await world.until("the new owner", owned)
    engine = busy()
    await world.roll_out(await world.child(speculative=True), engine)
    await world.phase("Watching")
    await still_speculating(world)
    engine.acceptance = 0.0
    await rolled_back_once(world)
