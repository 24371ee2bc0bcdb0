"""Every fault of the table in docs/engine.md on the real engine: the check that the table names catches it."""

from typing import Any

import pytest
from lab.engine import runs
from lab.engine.faults import ALL, Fault, Layer

pytestmark = pytest.mark.node


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    """What came of every fault."""
    return runs.faults(ALL)


@pytest.mark.parametrize("fault", ALL, ids=lambda each: each.what)
def test_a_fault_is_caught_by_its_layer_and_named(found: dict[str, Any], fault: Fault) -> None:
    """The reason is the one that the operator shows; a refusal takes less than five seconds from the start."""
    result = found[fault.what]
    assert (result["layer"], result["reason"]) == (fault.layer, fault.word), str(result)
    assert result["message"]
    if fault.layer is Layer.PREFLIGHT:
        assert result["seconds"] < 5
