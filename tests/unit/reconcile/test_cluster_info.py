"""What the operator reads of the cluster around it, and how often."""

from typing import Any

from specdec_operator.reconcile.cluster_info import ClusterInfo

Body = dict[str, Any]
CRD = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/inferenceservices.serving.kserve.io"
CONTROLLER = "/apis/apps/v1/namespaces/kserve-system/deployments/kserve-controller-manager"
MANAGER = {"name": "manager", "image": "kserve/kserve-controller:v0.20.0"}


class Paths:
    """An API that has some paths, and counts."""

    def __init__(self, there: dict[str, Body]) -> None:
        self.there = there
        self.asked: list[str] = []

    async def read(self, path: str, **_: str) -> Body | None:
        """What lies there."""
        self.asked.append(path)
        return self.there.get(path)


async def test_kserve_is_looked_up_once_for_all_and_again_after_minutes() -> None:
    """Its CRD has two megabytes; an upgrade is seen all the same."""
    now = [0.0]
    api = Paths({CRD: {"spec": {}}, CONTROLLER: {"spec": {"template": {"spec": {"containers": [MANAGER]}}}}})
    around = ClusterInfo(api, clock=lambda: now[0], namespace="kserve-system", told="")
    for now[0] in (0.0, 1.0, 299.0):
        assert (await around.kserve()).version == (0, 20)
    assert api.asked.count(CRD) == 1
    MANAGER["image"] = "kserve/kserve-controller:v0.21.0"
    now[0] = 301.0
    assert (await around.kserve()).version == (0, 21)


async def test_a_kserve_that_comes_later_is_seen_soon() -> None:
    """Until there is one, each look is cheap."""
    now = [0.0]
    api = Paths({})
    around = ClusterInfo(api, clock=lambda: now[0], namespace="kserve", told="")
    assert (await around.kserve()).version is None
    api.there[CRD] = {"spec": {"versions": [{"schema": _schema("storageContainerName")}]}}
    now[0] = 11.0
    assert (await around.kserve()).version == (0, 20)


def _schema(field: str) -> Body:
    predictor = {"properties": {field: {"type": "string"}}}
    return {"openAPIV3Schema": {"properties": {"spec": {"properties": {"predictor": predictor}}}}}
