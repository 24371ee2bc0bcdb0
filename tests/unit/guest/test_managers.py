"""Fields of a guest that the guard owns, and gives up once nothing is taken out."""

from typing import Any

import pytest

from specdec_operator.guest.managers import without_guard

OWNER = {"manager": "kubectl", "operation": "Apply", "fieldsV1": {"f:spec": {}}}
GUARD = {"manager": "specdec-guard", "operation": "Update", "fieldsV1": {"f:spec": {}}}


@pytest.mark.parametrize(
    ("entries", "out", "left"),
    [
        ([OWNER, GUARD], False, [OWNER]),
        ([OWNER, GUARD], True, None),
        ([OWNER], False, None),
        ([GUARD], False, [{}]),
        (None, False, None),
    ],
    ids=["restored", "out", "never written", "without another owner", "an API server without owners"],
)
def test_the_guard_gives_up_what_it_owns_once_nothing_is_out(
    entries: list[dict[str, Any]] | None, out: bool, left: list[dict[str, Any]] | None
) -> None:
    """An empty list would mean no change, so one empty entry stands for no owner."""
    live = {"metadata": {"managedFields": entries, "annotations": {"specdec.io/taken-out": "{}"} if out else {}}}
    assert without_guard(live) == left
