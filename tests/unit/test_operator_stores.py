"""What the watches tell is kept by sis, and dropped with it."""

import pytest

from specdec_operator.control.stores import Stores
from specdec_operator.names import KIND, OWNER_LABEL, REVISION_LABEL
from tests.unit.bodies import make_deployment, make_pod
from tests.unit.builders import NAME, NAMESPACE, Body

KEY = (NAMESPACE, NAME)
META = {"name": NAME, "namespace": NAMESPACE, "labels": {OWNER_LABEL: NAME}, "generation": 3}
CHILD = {"metadata": META, "spec": {"predictor": {"labels": {REVISION_LABEL: "r1"}}}}


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
    stores.note_child(CHILD | {"metadata": META | {"generation": generation}}, deleted=deleted)
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


def controlled_by(body: Body, *owners: Body) -> Body:
    """The same object, controlled by another one or by none."""
    return body | {"metadata": body["metadata"] | {"ownerReferences": list(owners)}}


@pytest.mark.parametrize(
    "owners",
    [
        [],
        [{"kind": "ReplicaSet", "name": "other-predictor-7d9f8c6b5", "controller": True}],
        [{"kind": "ReplicaSet", "name": "llama-predictor-7d9f8c6b5"}],
        [{"kind": "Job", "name": "llama-predictor-1", "controller": True}],
    ],
    ids=["nobody", "another service", "not its controller", "a Job"],
)
def test_a_pod_that_only_carries_the_label_is_no_pod_of_the_service(owners: list[Body]) -> None:
    """It is neither measured nor restarted, and one that a ReplicaSet lets go of is not any more."""
    stores = told()
    stores.note_pod(controlled_by(make_pod("stranger"), *owners), deleted=False)
    stores.note_pod(controlled_by(make_pod("p"), *owners), deleted=False)
    assert stores.pods(KEY) == ()


def test_copies_under_other_names_are_not_taken_for_the_services_own() -> None:
    """Whoever copies an object copies its labels."""
    stores = told()
    before = stores.child(KEY), stores.deployment(KEY)
    stores.note_child(CHILD | {"metadata": META | {"name": "copy", "generation": 9}}, deleted=False)
    copy = make_deployment("r9")
    stores.note_deployment(copy | {"metadata": copy["metadata"] | {"name": "copy"}}, deleted=False)
    assert (stores.child(KEY), stores.deployment(KEY)) == before
    job = {"metadata": CHILD["metadata"] | {"name": "llama-target-0"}}
    stores.note_job(job, deleted=False)
    assert stores.jobs(KEY) == {}
    sis = {"kind": KIND, "name": NAME, "controller": True}
    stores.note_job(controlled_by(job, sis), deleted=False)
    assert list(stores.jobs(KEY)) == ["llama-target-0"]


def test_nothing_is_kept_of_what_goes_after_its_sis() -> None:
    """Pods and Jobs go when their sis is gone; names that never come back would add up."""
    stores = told()
    stores.note_pod(make_pod("late"), deleted=True)
    stores.note_pod(make_pod("p"), deleted=True)
    stores.note_deployment(make_deployment(), deleted=True)
    stores.note_child(CHILD, deleted=True)
    stores.forget(KEY)
    for _ in range(2):
        stores.note_pod(make_pod("p"), deleted=True)
    assert [len(kept) for kept in vars(stores).values()] == [0] * 5


def test_what_outlives_its_sis_is_known_to_one_of_the_same_name() -> None:
    """Made again at once it takes the InferenceService over, and no watch tells anew of what does not change."""
    stores = told()
    stores.forget(KEY)
    child, deployment = stores.child(KEY), stores.deployment(KEY)
    assert (child and child.revision, deployment and deployment.revision) == ("r1", "r1")
    assert [pod.name for pod in stores.pods(KEY)] == ["p"]
