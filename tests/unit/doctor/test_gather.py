"""What `specdec doctor` asks a cluster for, and where its answers come to lie in the snapshot."""

from typing import Any, cast

import pytest
from tests.unit.doctor.doctor_cases import sharded
from tests.unit.doctor.snapshots import DENIED, MISSING, Change, Raw, healthy, look

from specdec_command.doctor.gather import Onlooker, take_snapshot
from specdec_command.doctor.permissions import Grant
from specdec_command.doctor.snapshot import REVIEWS_QUERY, Query, QueryAnswer, Snapshot


class Cluster:
    """A cluster as a user sees it. reviews: what SubjectAccessReviews bring; forbidden: paths that he may not list."""

    server, namespace = "https://cluster.example", "team"

    def __init__(self, change: Change | None = None, reviews: Any = None, forbidden: tuple[str, ...] = ()) -> None:
        self._raw = healthy()
        if change is not None:
            change(self._raw)
        self._reviews = reviews or {"status": {"allowed": True}}
        self._forbidden = forbidden
        self.asked: list[str] = []

    async def look(self, query: Query) -> QueryAnswer:
        """What lies at a path: of the lists those that these tests are about, else nothing."""
        self.asked.append(query.path)
        kind = query.path.rpartition("/")[2]
        lists: Raw = {
            "deployments": self._raw["operators"],
            "speculativeinferenceservices": self._raw["services"],
            "leases": self._raw["leases"],
        }
        return look(query, DENIED if query.path in self._forbidden else lists.get(kind, MISSING))

    async def review(self, _: Any, grant: Grant) -> QueryAnswer:
        self.asked.append(f"{grant.verb} {grant.need.resource} {grant.need.name}")
        return look(REVIEWS_QUERY, self._reviews)


async def taken(cluster: Cluster) -> Snapshot:
    return await take_snapshot(cast("Onlooker", cluster), namespace=None, service=None, home=None)


async def test_the_operators_own_things_are_looked_at_where_it_has_them() -> None:
    """Its namespace, the Leases beside its own, and each permission, those for Leases by name."""
    cluster = Cluster(sharded(2, "leader-0", "leader-1"))
    seen = await taken(cluster)
    assert seen.leases is not None
    assert [each.of("metadata", "name").text for each in seen.leases.items] == ["leader-0", "leader-1"]
    assert seen.home is not None
    assert seen.home.name == "specdec-system"
    assert {each.allowed for each in seen.grants} == {True}
    assert {"get leases leader-0", "update leases leader-1"} <= {*cluster.asked}
    assert (seen.reviews, seen.more_spaces) == (None, 0)
    assert [each.name for each in seen.spaces] == ["team"]


async def test_without_an_election_no_lease_is_asked_for() -> None:
    """One replica works, come what may."""

    def alone(raw: Raw) -> None:
        raw["operators"]["items"][0]["spec"]["template"]["spec"]["containers"][0]["env"] = []

    cluster = Cluster(alone)
    assert (await taken(cluster)).leases is None
    assert not any("leases" in each for each in cluster.asked)


@pytest.mark.parametrize(
    ("group", "narrow"),
    [
        ("/apis/serving.specdec.io/v1alpha1{}/speculativeinferenceservices", "team"),
        ("/apis/apps/v1{}/deployments", "specdec-system"),
    ],
)
async def test_who_may_not_list_all_namespaces_has_one_looked_at(group: str, narrow: str) -> None:
    """Services in the kubeconfig's own, the operator in its usual one."""
    cluster = Cluster(forbidden=(group.format(""),))
    seen = await taken(cluster)
    assert group.format(f"/namespaces/{narrow}") in cluster.asked
    assert len(seen.services.items) == 1
    assert len(seen.operators.items) == 1
