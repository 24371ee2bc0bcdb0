"""The store keeps the events of the watches by sis, and drops them with it."""

import pytest
from tests.unit.bodies import make_deployment, make_pod
from tests.unit.builders import NAME, NAMESPACE, Body

from specdec_operator.names import KIND, OWNER_LABEL, REVISION_LABEL
from specdec_operator.observe.store import Stores

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


def test_what_is_gone_is_gone() -> None:
    """A deleted InferenceService stays known as deleted, so that it is made again."""
    stores = told()
    stores.note_pod(make_pod("p"), deleted=True)
    stores.note_pod(make_pod("never seen"), deleted=True)
    stores.note_deployment(make_deployment(), deleted=True)
    stores.note_child(CHILD, deleted=True)
    assert (stores.pods(KEY), stores.objects(KEY).deployment) == ((), None)
    child = stores.objects(KEY).child
    assert child is not None
    assert child.deleted
    stores.note_applied(KEY, "uid of the next")
    assert stores.objects(KEY).child is None


def test_an_end_that_is_reported_before_the_answer_to_the_last_write_counts() -> None:
    """Otherwise the service would wait for the event of an object that no longer exists."""
    stores = told()
    stores.note_child(CHILD | {"metadata": CHILD["metadata"] | {"uid": "its own"}}, deleted=True)
    stores.note_applied(KEY, "its own")
    child = stores.objects(KEY).child
    assert child is not None
    assert child.deleted


@pytest.mark.parametrize(("generation", "deleted", "drifted"), [(3, False, False), (4, False, True), (3, True, True)])
def test_a_child_drifts_by_a_newer_generation_or_by_going(generation: int, deleted: bool, drifted: bool) -> None:
    """Our own apply made generation 3."""
    stores = Stores()
    stores.note_child(CHILD | {"metadata": META | {"generation": generation}}, deleted=deleted)
    child = stores.objects(KEY).child
    assert child is not None
    assert child.drifted(3) is drifted


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
def test_a_pod_that_only_carries_the_label_does_not_belong_to_the_service(owners: list[Body]) -> None:
    """It is not measured and not restarted. The same holds for a pod that a ReplicaSet releases."""
    stores = told()
    stores.note_pod(controlled_by(make_pod("stranger"), *owners), deleted=False)
    stores.note_pod(controlled_by(make_pod("p"), *owners), deleted=False)
    assert stores.pods(KEY) == ()


def test_copies_under_other_names_are_not_taken_for_the_services_own() -> None:
    """A copy of an object has its labels as well."""
    stores = told()
    before = stores.objects(KEY).child, stores.objects(KEY).deployment
    stores.note_child(CHILD | {"metadata": META | {"name": "copy", "generation": 9}}, deleted=False)
    copy = make_deployment("r9")
    stores.note_deployment(copy | {"metadata": copy["metadata"] | {"name": "copy"}}, deleted=False)
    assert (stores.objects(KEY).child, stores.objects(KEY).deployment) == before
    job = {"metadata": CHILD["metadata"] | {"name": "llama-target-0"}}
    stores.note_job(job, deleted=False)
    assert stores.objects(KEY).jobs == {}
    sis = {"kind": KIND, "name": NAME, "controller": True}
    stores.note_job(controlled_by(job, sis), deleted=False)
    assert list(stores.objects(KEY).jobs) == ["llama-target-0"]


def test_what_outlives_its_sis_is_known_to_one_of_the_same_name() -> None:
    """A service that is created again at once takes the InferenceService over, and no watch
    reports an unchanged object again.
    """
    stores = told()
    stores.forget(KEY)
    child, deployment = stores.objects(KEY).child, stores.objects(KEY).deployment
    assert (child and child.revision, deployment and deployment.revision) == ("r1", "r1")
    assert [pod.name for pod in stores.pods(KEY)] == ["p"]
