"""lab.engine.pair: what the tiny pair has to be."""

import pytest

from lab.engine import pair


@pytest.mark.parametrize(
    ("code", "other", "good"), [(0.7, 0.0, True), (0.5, 0.0, False), (0.7, 0.1, False), (0.2, 0.4, False)]
)
def test_a_pair_is_good_when_both_acceptance_rates_are_on_their_side(code: float, other: float, good: bool) -> None:
    measured = {
        kind: {"acceptance": rate, "drafted": 1000, "tokens_per_second": 90}
        for kind, rate in {"code": code, "drift": other}.items()
    }
    assert pair.holds({"speculating": measured}) is good
    assert list(pair.lines({"speculating": measured}))[-1].endswith("as it must be")


def test_speed_is_compared_with_the_baseline_if_it_was_measured() -> None:
    measured = {kind: {"acceptance": 0.7, "drafted": 10, "tokens_per_second": 150} for kind in ("code", "drift")}
    baseline = {kind: {"tokens_per_second": 100} for kind in ("code", "drift")}
    assert "speed 1.50x" in next(iter(pair.lines({"speculating": measured, "plain": baseline})))


@pytest.mark.parametrize(
    ("corrected", "uncorrected", "holds"), [(0.2, 0.7, True), (0.4, 0.7, False), (0.2, 0.3, False)]
)
def test_the_plugin_is_needed_and_is_enough(corrected: float, uncorrected: float, holds: bool) -> None:
    """A correction of a bug that is gone is as wrong as one that does not help."""
    numbers = {"noise": 0.2, "corrected": corrected, "uncorrected": uncorrected}
    assert pair.sampling_holds(numbers) is holds
    assert "0.20" in pair.sampling_line(numbers)
