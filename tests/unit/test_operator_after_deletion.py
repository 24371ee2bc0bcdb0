"""What a deleted sis leaves in memory: nothing, whatever the watches tell after it."""

from types import SimpleNamespace
from typing import Any

import pytest

from specdec_operator.control import handlers
from specdec_operator.control.stores import Stores
from specdec_operator.control.wakeups import Wakeups
from specdec_operator.names import OWNER_LABEL
from specdec_operator.web.seen import Seen
from tests.unit.builders import NAME, NAMESPACE

KEY = (NAMESPACE, NAME)
META = {"name": NAME, "namespace": NAMESPACE, "labels": {OWNER_LABEL: NAME}, "generation": 3}
CHILD = {"metadata": META, "spec": {}, "status": {"url": "http://x"}}


def told(kind: str, body: dict[str, Any]) -> dict[str, Any]:
    """An event as kopf hands it over."""
    return {"event": {"type": kind, "object": body}, "body": body, "meta": body["metadata"]}


@pytest.fixture
def memo() -> Any:
    """What the handlers share, as far as these look."""
    stores = Stores()
    return SimpleNamespace(stores=stores, wakeups=Wakeups(), seen=Seen(stores.pods))


def kept(memo: Any) -> int:
    """Entries of all stores."""
    return sum(len(each) for part in (memo.stores, memo.wakeups) for each in vars(part).values())


async def test_what_is_told_after_its_end_is_not_kept(memo: Any) -> None:
    """Its last event and its InferenceService's come after its loop has ended; names may never come back."""
    memo.wakeups.follow(KEY)
    await handlers.wake_on_change(memo=memo, **told("ADDED", {"metadata": META}))
    await handlers.note_child(memo=memo, **told("ADDED", CHILD))
    memo.stores.forget(KEY)
    memo.wakeups.forget(KEY)
    await handlers.note_child(memo=memo, **told("MODIFIED", CHILD))
    await handlers.wake_on_change(memo=memo, **told("MODIFIED", {"metadata": META}))
    await handlers.wake_on_change(memo=memo, **told("DELETED", {"metadata": META}))
    await handlers.note_child(memo=memo, **told("DELETED", CHILD))
    assert kept(memo) == 0


async def test_an_inference_service_that_is_deleted_before_its_sis_is_remembered(memo: Any) -> None:
    """So that it is made again."""
    memo.wakeups.follow(KEY)
    await handlers.note_child(memo=memo, **told("DELETED", CHILD))
    assert memo.stores.child(KEY).deleted
