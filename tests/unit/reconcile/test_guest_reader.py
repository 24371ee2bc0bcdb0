"""The objects of a guest: answers have a limit, and lists come in pages."""

import json
from typing import Any

import pytest
from tests.unit.stage import KEY, FakeCluster

from specdec_operator.api.guest import GuestKind, GuestRef
from specdec_operator.errors import TooLarge
from specdec_operator.guest.sizes import MOST_OBJECT_BYTES, MOST_PAGE_BYTES, MOST_PODS, MOST_SELECTOR, PODS_A_PAGE
from specdec_operator.guest.view import Guest
from specdec_operator.observe.store import Stores
from specdec_operator.reconcile.guest_reader import GuestReader

Body = dict[str, Any]
REF = GuestRef(kind=GuestKind.DEPLOYMENT, name="theirs", field="spec.deploymentRef.name")
SELF = {"metadata": {"uid": "u-1"}}


class PagedCluster(FakeCluster):
    """One Deployment and its pods. asked: the limit of each page that was answered, and the bytes of the answer."""

    def __init__(self, *pods: Body, labels: dict[str, str] | None = None, **more: Any) -> None:
        super().__init__()
        self.pods = pods
        template = {"spec": {"containers": [{"name": "c", "image": "vllm", "args": ["--port=7"]}]}}
        spec = {"selector": {"matchLabels": labels or {"app": "x"}}, "template": template}
        self.deployment: Body = {"metadata": {"name": "theirs", **more}, "spec": spec, "status": {}}
        self.asked: list[tuple[int, int]] = []

    async def read(self, path: str, *, most: int | None = None, **query: str) -> Body | None:
        """The Deployment, or a page of pods."""
        assert most is not None, "each answer has a limit"
        if path.endswith("/deployments"):
            found: Body = {"items": [self.deployment]}
        else:
            start, page = int(query.get("continue", "0")), int(query["limit"])
            end = start + page
            more = {"continue": str(end)} if end < len(self.pods) else {}
            found = {"metadata": more, "items": list(self.pods[start:end])}
        if (size := len(json.dumps(found))) > most:
            raise TooLarge(path, size, most)
        if not path.endswith("/deployments"):
            self.asked.append((page, size))
        return found


def pod(number: int, size: int = 0) -> Body:
    """A pod of it. size: of what fills it."""
    owner = {"kind": "ReplicaSet", "name": "theirs-1", "controller": True}
    meta = {"name": f"p{number:03}", "annotations": {"fill": "x" * size}, "ownerReferences": [owner]}
    return {"metadata": meta, "spec": {"containers": [{"name": "c", "args": ["--port=7"]}]}, "status": {}}


async def read(cluster: PagedCluster) -> Guest:
    """What is read of it."""
    return await GuestReader(cluster, Stores(), most=0).guest(KEY, REF, SELF)


async def test_pods_come_in_pages() -> None:
    """All of them, and none twice."""
    cluster = PagedCluster(*(pod(number) for number in range(2 * PODS_A_PAGE + 1)))
    guest = await read(cluster)
    assert [each.name for each in guest.pods] == [f"p{number:03}" for number in range(2 * PODS_A_PAGE + 1)]
    assert [page for page, _ in cluster.asked] == [PODS_A_PAGE] * 3


async def test_large_pods_are_read_one_by_one() -> None:
    """Where a page has more bytes than are read at once."""
    cluster = PagedCluster(*(pod(number, MOST_OBJECT_BYTES // 2) for number in range(PODS_A_PAGE)))
    guest = await read(cluster)
    assert len(guest.pods) == PODS_A_PAGE
    assert {page for page, _ in cluster.asked} == {1}
    assert max(size for _, size in cluster.asked) < MOST_PAGE_BYTES


@pytest.mark.parametrize(
    ("cluster", "words"),
    [
        (PagedCluster(pod(0, MOST_PAGE_BYTES)), "/pods has 1048"),
        (PagedCluster(fill="x" * 900_000), "/deployments has 900"),
        (PagedCluster(*(pod(number) for number in range(MOST_PODS + 1))), f"more than {MOST_PODS} pods"),
        (PagedCluster(labels={"app": "x" * MOST_SELECTOR}), f"reads at most {MOST_SELECTOR}"),
    ],
)
async def test_more_than_is_read_is_refused(cluster: PagedCluster, words: str) -> None:
    """The message has the value, the rule and the way out."""
    trouble = (await read(cluster)).trouble
    assert trouble is not None
    assert (trouble.reason, trouble.field, trouble.value) == ("GuestTooLarge", REF.field, "theirs")
    assert words in trouble.rule
    assert ": " in trouble.rule
