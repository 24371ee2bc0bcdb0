"""The engine image with the real vLLM: the tiny pair is what the story needs, and sampling is what it must be."""

import json

import pytest
from hack.models import store
from lab.engine import pair

pytestmark = pytest.mark.node


def test_the_draft_is_good_on_code_and_worthless_on_drift() -> None:
    """From vLLM's own counters: more than half of the drafted tokens accepted on code, less than a tenth on drift."""
    assert pair.measure(baseline=False) == 0
    proof = json.loads((store.folder() / store.PROOF).read_text(encoding="utf-8"))
    assert pair.holds(proof)


def test_speculation_keeps_the_distribution_of_sampled_text() -> None:
    """Total variation distance to the plain server: at the noise floor with the plugin, far above it without."""
    assert pair.sampling() == 0
