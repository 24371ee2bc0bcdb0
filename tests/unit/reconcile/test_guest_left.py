"""Guests of deleted services: their flags come back, and the guard gives up the fields that it still owns."""

import pytest
from tests.unit.builders import NAMESPACE, Body
from tests.unit.reconcile.test_loop_guest import ALLOWED, BASELINE, KEPT, SPECULATES, GuestStage, taken_out

from specdec_operator.errors import Unavailable
from specdec_operator.reconcile.guest_writes import bring_back_left

OWNER = (NAMESPACE, "u-1")
GUARD = {"manager": "specdec-guard"}
LOST = Unavailable("ApiServerUnavailable", "no answer")


async def left_behind() -> GuestStage:
    """A guest without its flag, which the guard took out last."""
    stage = await taken_out()
    stage.cluster.child["metadata"]["managedFields"] = [GUARD]
    return stage


async def brought_back(stage: GuestStage, *, left: bool = True, free: bool = True) -> bool:
    """One call. left: whether the service is gone; free: whether no service names the guest."""

    async def listed(path: str, label_selector: str) -> list[Body]:
        assert (path.rpartition("/")[2], label_selector) == ("inferenceservices", "")
        return [stage.cluster.child["metadata"]]

    stage.cluster.list_metadata = listed  # type: ignore[method-assign]
    return await bring_back_left(
        stage.cluster,
        (),
        lambda namespace, uid: left and (namespace, uid) == OWNER,
        lambda namespace, name: free and (namespace, name) == (NAMESPACE, "theirs"),
    )


def owners(stage: GuestStage) -> list[Body]:
    """Who owns fields of the guest."""
    found: list[Body] = stage.cluster.child["metadata"]["managedFields"]
    return found


@pytest.mark.parametrize(
    ("left", "wanted", "owner"), [(True, SPECULATES, {}), (False, BASELINE, GUARD)], ids=["gone", "there"]
)
async def test_what_a_service_took_out_comes_back_when_it_is_gone(left: bool, wanted: list[str], owner: Body) -> None:
    """By the annotation alone, and the guard owns nothing then; not while the service is there."""
    stage = await left_behind()
    assert await brought_back(stage, left=left)
    assert (stage.args, owners(stage)) == (wanted, [owner])


async def test_a_release_that_fails_is_logged_as_one_and_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    """The flag is back, so no line reports that it is not."""
    stage = await left_behind()
    stage.cluster.failing["set_managers"] = LOST
    assert not await brought_back(stage)
    assert (stage.args, owners(stage)) == (SPECULATES, [GUARD])
    assert "not restored" not in caplog.text
    assert "team-a/theirs: the guard still owns fields, and tries again: no answer" in caplog.text
    del stage.cluster.failing["set_managers"]
    assert await brought_back(stage)
    assert owners(stage) == [{}]


@pytest.mark.parametrize(
    ("free", "annotations", "owner"),
    [(True, ALLOWED, {}), (False, ALLOWED, GUARD), (True, {}, GUARD)],
    ids=["no service", "a service names it", "without its owner's permission"],
)
async def test_an_operator_that_ended_between_the_two_writes_gives_up_at_its_next_start(
    free: bool, annotations: Body, owner: Body
) -> None:
    """The annotation is gone, so the owners of the fields show it. A service that guards it does so itself."""
    stage = await left_behind()
    stage.cluster.failing["set_managers"] = LOST
    await brought_back(stage)
    del stage.cluster.failing["set_managers"]
    stage.cluster.child["metadata"]["annotations"] = dict(annotations)
    assert await brought_back(stage, left=False, free=free)
    assert (stage.args, owners(stage)) == (SPECULATES, [owner])


async def test_a_flag_that_cannot_be_restored_is_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    """Nothing changes meanwhile."""
    stage = await left_behind()
    stage.cluster.failing["patch"] = LOST
    assert not await brought_back(stage)
    assert (stage.args, owners(stage)) == (BASELINE, [GUARD])
    assert KEPT in stage.cluster.child["metadata"]["annotations"]
    assert "team-a/theirs is not restored yet: no answer" in caplog.text
