"""How many pods are needed, with and without speculation: from measurements, or unknown."""

from typing import Any

import pytest
from tests.unit.builders import NAME, found, judged, make_comparison, make_evidence, make_state

from specdec_operator.guard.judge import Judged
from specdec_operator.guard.verdict import Outcome, Reason, Verdict
from specdec_operator.names import BASELINE_LABEL, OWNER_LABEL, STAGING_LABEL
from specdec_operator.report.scaling import selector_of, yield_of
from specdec_operator.report.status import status_of

PASS = Verdict(outcome=Outcome.PASS, reason=Reason.ACCEPTED, message="")


def window(*, pods: float = 3, tokens: float = 3000, **changes: Any) -> Judged:
    """A window of ten seconds."""
    evidence = make_evidence(generation_tokens=tokens, pod_seconds=10 * pods, pods=int(pods))
    return judged(PASS, evidence, **changes)


def test_one_pods_share_is_by_the_time_for_which_each_was_there() -> None:
    """A pod that came in the middle of the window counts half."""
    seen = yield_of(window(pods=2.5), is_baseline=False)
    assert seen is not None
    assert (seen.tokens_per_second, seen.needed) == (120.0, 3)


@pytest.mark.parametrize(("speedup", "baseline", "needed"), [(2.0, 50.0, 6), (0.5, 200.0, 2), (1.0, 100.0, 3)])
def test_the_number_of_baseline_pods_follows_from_the_measured_speedup(
    speedup: float, baseline: float, needed: int
) -> None:
    """At the same load. If speculation is slower, the number is smaller."""
    seen = yield_of(window(comparison=make_comparison(speedup)), is_baseline=False)
    assert seen is not None
    assert (seen.baseline, seen.baseline_needed) == (baseline, needed)


def test_what_is_not_known_is_not_shown() -> None:
    """Without a window, without traffic, or at a load at which the baseline was never measured."""
    assert yield_of(None, is_baseline=False) is None
    assert yield_of(window(tokens=0), is_baseline=False) is None
    seen = yield_of(window(), is_baseline=False)
    assert seen is not None
    assert (seen.baseline, seen.baseline_needed) == (None, None)


def test_the_status_shows_both_numbers_in_a_sentence() -> None:
    """And keeps the numbers of the same pods while there is no new measurement."""
    first = status_of(found(make_state(), judged=window(comparison=make_comparison(2.0))), {}, 0.0)
    assert first["scaling"]["plainReplicasNeeded"] == 6
    assert first["scaling"]["message"].startswith(
        "3 speculating pods, each 100 tokens/s; without speculation 6 (6 to 7) pods would be needed"
    )
    kept = status_of(found(make_state()), first, 1.0)
    assert kept["scaling"] == first["scaling"]
    others = first | {"serving": first["serving"] | {"revision": "of-before"}}
    assert "scaling" not in status_of(found(make_state()), others, 1.0)
    unknown = status_of(found(make_state(), judged=window()), {}, 0.0)
    assert unknown["scaling"]["message"] == "3 speculating pods, each 100 tokens/s; baseline: unknown at this load"


def test_an_autoscaler_counts_only_the_pods_of_its_service() -> None:
    """The selector matches no downloads and no baseline pods."""
    assert selector_of(NAME) == f"{OWNER_LABEL}={NAME},!{STAGING_LABEL},!{BASELINE_LABEL}"
    assert status_of(found(make_state()), {}, 0.0)["selector"] == selector_of(NAME)
