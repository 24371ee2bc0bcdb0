"""What the watches tell is kept by sis, and dropped with it."""

import pytest

from specdec_operator.control.stores import Stores
from specdec_operator.names import OWNER_LABEL
from tests.unit.bodies import make_deployment, make_pod
from tests.unit.builders import NAME, NAMESPACE

KEY = (NAMESPACE, NAME)
CHILD = {"metadata": {"namespace": NAMESPACE, "labels": {OWNER_LABEL: NAME}, "generation": 3}}


def told() -> Stores:
    """Stores that know a child, its Deployment and a pod."""
    stores = Stores()
    assert stores.note_child(CHILD | {"status": {"url": "http://x"}}, deleted=False) == KEY
    assert stores.note_deployment(make_deployment(), deleted=False) == KEY
    assert stores.note_pod(make_pod("p"), deleted=False) == KEY
    return stores


def test_what_was_told_is_found_by_its_owner() -> None:
    """And not by another one."""
    stores = told()
    child, deployment = stores.child(KEY), stores.deployment(KEY)
    assert child is not None
    assert deployment is not None
    assert (child.url, deployment.revision, [pod.name for pod in stores.pods(KEY)]) == ("http://x", "r1", ["p"])
    other = (NAMESPACE, "other")
    assert (stores.child(other), stores.deployment(other), stores.pods(other)) == (None, None, ())


def test_what_is_gone_is_gone() -> None:
    """A deleted InferenceService stays known as deleted, so that it is made again."""
    stores = told()
    stores.note_pod(make_pod("p"), deleted=True)
    stores.note_pod(make_pod("never seen"), deleted=True)
    stores.note_deployment(make_deployment(), deleted=True)
    stores.note_child(CHILD, deleted=True)
    assert (stores.pods(KEY), stores.deployment(KEY)) == ((), None)
    child = stores.child(KEY)
    assert child is not None
    assert child.deleted
    stores.note_applied(KEY)
    assert stores.child(KEY) is None


@pytest.mark.parametrize(("generation", "deleted", "drifted"), [(3, False, False), (4, False, True), (3, True, True)])
def test_a_child_drifts_by_a_newer_generation_or_by_going(generation: int, deleted: bool, drifted: bool) -> None:
    """Our own apply made generation 3."""
    stores = Stores()
    stores.note_child({"metadata": CHILD["metadata"] | {"generation": generation}}, deleted=deleted)
    child = stores.child(KEY)
    assert child is not None
    assert child.drifted(3) is drifted


def test_watches_are_settled_once_they_have_told_of_the_pods_that_the_deployment_has() -> None:
    """Before that nothing can be said about what serves."""
    stores = Stores()
    assert not stores.settled(KEY)
    stores.note_deployment(make_deployment(), deleted=False)
    assert not stores.settled(KEY)
    stores.note_pod(make_pod("p"), deleted=False)
    assert stores.settled(KEY)
    stores.forget(KEY)
    stores.note_deployment(make_deployment(available=0), deleted=False)
    assert stores.settled(KEY)


def test_pods_on_their_way_out_are_not_there() -> None:
    """A pod that is to be restarted is gone once it is being deleted."""
    stores = Stores()
    for name, deleting in (("stays", False), ("leaves", True)):
        stores.note_pod(make_pod(name, deleting=deleting), deleted=False)
    assert stores.pod_names(KEY) == {"stays"}
    assert stores.pod_names(("elsewhere", "x")) == frozenset()
