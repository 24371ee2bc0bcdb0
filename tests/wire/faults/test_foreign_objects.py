"""Objects of another owner under a name of the service are never written or deleted: InferenceService, PVC, Job.

Compared as a whole, with version and field owners: not one write reaches it.
"""

import pathlib

import pytest

from specdec_operator.api.spec import Owner, owner_reference
from specdec_operator.errors import Invalid, Unavailable
from specdec_operator.kube.client import ApiServer, KubeClient
from specdec_operator.observe.ownership import Claimant, OwnerView, Standing
from specdec_operator.reconcile.own import write_own
from tests.wire.api import ISVC, Api, Object
from tests.wire.faults.foreign import (
    CLAIM,
    CONFIG,
    JOB,
    adopt,
    as_left,
    as_written,
    by_hand,
    claim_by_hand,
    controlled,
    downloading,
    removed,
    taken,
    vanish,
)
from tests.wire.faults.table import Part, fault
from tests.wire.install import operator_kubeconfig
from tests.wire.operator import OperatorProcess
from tests.wire.world import NAME, World, sis

_MODELS = f"{NAME}-models"


@fault(
    part=Part.OBJECTS,
    when="an InferenceService of a user has the service's name",
    then="not written, adopted or deleted; NameTaken until the name is free",
)
async def test_a_foreign_inference_service_is_left_alone(world: World, operator: OperatorProcess) -> None:
    """The sis names it, who wrote it, and both ways out; it stays byte for byte, also when the sis is deleted."""
    before = await world.api.create(ISVC, world.namespace, by_hand())
    await world.apply(sis())
    said = await taken(world)
    assert f"InferenceService {NAME}: 'without a controller, written by " in said
    assert "delete or rename" in said
    assert 'serving.specdec.io/adopt="true"' in said
    await world.turned(operator)
    assert await as_written(world) == as_left(before)
    assert (await world.events()).count("NameTaken") == 1, "once, not at each look"
    await removed(world)
    await world.apply(sis())
    await taken(world)
    assert await as_written(world) == as_left(before)
    await world.api.delete(ISVC, world.namespace, NAME)
    await world.child(speculative=True)
    await world.phase("RollingOut")


@fault(
    part=Part.OBJECTS,
    when="the same with a PVC or a download Job",
    then="the same",
)
@pytest.mark.parametrize("kind", [CLAIM, JOB], ids=["claim", "Job"])
async def test_a_foreign_pvc_or_job_is_left_alone(
    world: World, downloader: OperatorProcess, kind: tuple[str, str]
) -> None:
    """The PVC holds another owner's data, and a Job may be at work."""
    await world.apply(downloading())
    name = (await _made(world, kind))["metadata"]["name"]
    await removed(world)
    for each in (JOB, CLAIM):
        for found in await world.api.items(each, world.namespace):
            await vanish(world, each, found["metadata"]["name"])
    before = await world.api.create(kind, world.namespace, claim_by_hand() if kind == CLAIM else _job(name))
    await world.apply(downloading())
    said = await taken(world)
    assert f"{before['kind']} {name}: 'without a controller" in said
    assert await world.api.get(kind, world.namespace, name) == before
    assert await world.api.items(ISVC, world.namespace) == []
    await vanish(world, kind, name)

    async def ours() -> bool:
        found = await world.api.get(kind, world.namespace, name)
        return found is not None and found["metadata"]["uid"] != before["metadata"]["uid"]

    await world.until(f"a {before['kind']} of its own", ours)


async def _made(world: World, kind: tuple[str, str]) -> Object:
    async def there() -> Object | None:
        return next(iter(await world.api.items(kind, world.namespace)), None)

    found: Object = await world.until(f"one of {kind[1]}", there)
    return found


def _job(name: str) -> Object:
    pod = {"restartPolicy": "Never", "containers": [{"name": "mine", "image": "mine"}]}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": {"template": {"spec": pod}}}


@fault(
    part=Part.OBJECTS,
    when="the InferenceService has another controller, and the service annotation adopt",
    then="not written; the message names the controller",
)
async def test_what_another_controller_owns_is_not_adopted(world: World, operator: OperatorProcess) -> None:
    """Two controllers of one object would fight for ever, and its owner would delete it with itself."""
    owner = await world.api.create(CONFIG, world.namespace, {"metadata": {"name": "its-owner"}})
    before = await world.api.create(ISVC, world.namespace, controlled(owner, by_hand()))
    await world.apply(sis())
    await taken(world)
    await adopt(world)
    await world.turned(operator)
    said = await taken(world)
    assert "controlled by ConfigMap its-owner" in said
    assert "does not take over objects of another controller" in said
    assert await as_written(world) == as_left(before)


@fault(
    part=Part.OBJECTS,
    when="another user replaces the InferenceService between the operator's read and write",
    then="the API server refuses the write",
)
@pytest.mark.parametrize("was", ["free", "ours"])
async def test_a_race_for_the_name_seizes_nothing(
    api: Api, kubeconfig: pathlib.Path, world: World, tmp_path: pathlib.Path, was: str
) -> None:
    """The write itself, with what was seen before: that there was nothing, or another object, which was ours."""
    owner = Owner(name=NAME, namespace=world.namespace, uid=(await world.apply(sis()))["metadata"]["uid"])
    before = await world.api.create(ISVC, world.namespace, by_hand())
    manifest = by_hand(minReplicas=3)
    manifest["metadata"] |= {"namespace": world.namespace, "ownerReferences": [owner_reference(owner)]}
    seen = {"free": OwnerView(standing=Standing.FREE), "ours": OwnerView(standing=Standing.OURS, uid=owner.uid)}[was]
    claimant = Claimant(uid=owner.uid, noted=frozenset({owner.uid}))
    cluster = await _connected(api, kubeconfig, tmp_path)
    try:
        with pytest.raises(Unavailable, match=r"another object|has been modified|immutable"):
            await write_own(cluster, manifest, claimant, seen)
        assert await as_written(world) == as_left(before)
        with pytest.raises(Invalid, match="without a controller"):
            await write_own(cluster, manifest, claimant)
        assert await as_written(world) == as_left(before)
    finally:
        await cluster.close()


async def _connected(api: Api, admin: pathlib.Path, folder: pathlib.Path) -> ApiServer:
    own = await operator_kubeconfig(api, admin, folder / "operator")
    return ApiServer(await KubeClient.as_user(str(own)))
