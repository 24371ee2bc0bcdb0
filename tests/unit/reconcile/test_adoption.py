"""What a deleted service left beside its InferenceService: it is taken over as a whole, or not at all."""

import copy
from collections.abc import Sequence
from typing import Any

import pytest
from tests.unit.builders import NAME, NAMESPACE, Body, make_sis

from specdec_operator.errors import Unavailable
from specdec_operator.names import ADOPT_ANNOTATION, BASELINE_LABEL, OWNER_LABEL
from specdec_operator.observe.ownership import OwnerView, Standing
from specdec_operator.reconcile.adoption import take_along
from specdec_operator.reconcile.sis import Sis, read_sis

LEFT = OwnerView(standing=Standing.LOOSE, uid="uid-isvc")
DEPLOYMENTS = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments"


class Cluster:
    """An API server with a baseline Deployment and a budget. refuses: the kind of which no change is accepted."""

    def __init__(self, refuses: str = "", **meta: Any) -> None:
        labels = {OWNER_LABEL: NAME, BASELINE_LABEL: "plain"}
        known = {"namespace": NAMESPACE, "labels": labels, "uid": "uid-1", "resourceVersion": "7"} | meta
        self.deployment: Body = {"metadata": {"name": f"{NAME}-predictor-plain"} | known, "spec": {}}
        self.budget: Body = {"metadata": {"name": f"{NAME}-specdec"} | copy.deepcopy(known), "spec": {}}
        self.refuses = refuses

    async def read(self, path: str, *, most: int | None = None, **selectors: str) -> Body:
        """The list of Deployments."""
        assert (path, [*selectors]) == (DEPLOYMENTS, ["field_selector"])
        return {"items": [self.deployment]}

    async def find(self, manifest: Body) -> Body:
        """The budget."""
        assert manifest["kind"] == "PodDisruptionBudget"
        return self.budget

    async def patch(self, manifest: Body, changes: Sequence[Body], *, dry_run: bool = False) -> Body:
        """Stores the owners, at the version that was read."""
        if manifest["kind"] == self.refuses:
            raise Unavailable("Forbidden", "no permission")
        live = self.deployment if manifest["kind"] == "Deployment" else self.budget
        tests = {each["path"]: each["value"] for each in changes if each["op"] == "test"}
        assert tests == {"/metadata/uid": "uid-1", "/metadata/resourceVersion": "7"}
        if not dry_run:
            live["metadata"]["ownerReferences"] = changes[-1]["value"]
        return live

    def owners(self) -> list[list[str]]:
        """Uids of the owners of both."""
        every = [each["metadata"].get("ownerReferences", []) for each in (self.deployment, self.budget)]
        return [[owner["uid"] for owner in owners] for owners in every]


def service(*, adopts: bool = True) -> Sis:
    """The new service of that name."""
    return read_sis(make_sis(annotations={ADOPT_ANNOTATION: "true"} if adopts else None))


async def test_both_are_taken_over_before_the_inference_service() -> None:
    """Other owners of them stay."""
    cluster = Cluster(ownerReferences=[{"uid": "other", "kind": "App", "name": "a"}])
    told = await take_along(cluster, service(), LEFT)  # type: ignore[arg-type]
    assert cluster.owners() == [["other", "u-1"], ["other", "u-1"]]
    assert [(each.reason, each.message.split()[0]) for each in told] == [
        ("Adopted", "Deployment"),
        ("Adopted", "PodDisruptionBudget"),
    ]


@pytest.mark.parametrize("refuses", ["Deployment", "PodDisruptionBudget"])
async def test_none_is_taken_over_where_one_cannot_be(refuses: str) -> None:
    """The error comes before the InferenceService is written."""
    cluster = Cluster(refuses)
    with pytest.raises(Unavailable):
        await take_along(cluster, service(), LEFT)  # type: ignore[arg-type]
    assert cluster.owners() == [[], []]


@pytest.mark.parametrize(
    ("adopts", "look", "meta"),
    [
        (False, LEFT, {}),
        (True, OwnerView(standing=Standing.FREE), {}),
        (True, OwnerView(standing=Standing.OURS, uid="uid-isvc"), {}),
        (True, LEFT, {"labels": {OWNER_LABEL: "another", BASELINE_LABEL: "plain"}}),
        (True, LEFT, {"labels": None}),
        (True, LEFT, {"ownerReferences": [{"uid": "x", "kind": "App", "name": "a", "controller": True}]}),
    ],
    ids=["no permission", "nothing there", "its own", "another service's", "a user's", "controlled"],
)
async def test_what_is_not_left_by_such_a_service_stays(adopts: bool, look: OwnerView, meta: Body) -> None:
    """Nothing is written."""
    cluster = Cluster(**meta)
    before = cluster.owners()
    assert await take_along(cluster, service(adopts=adopts), look) == ()  # type: ignore[arg-type]
    assert cluster.owners() == before
