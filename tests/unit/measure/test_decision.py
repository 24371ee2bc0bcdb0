"""Keep, drop or mixed: from time to first token, time per output token and throughput together."""

from dataclasses import replace

import pytest
from tests.unit.measure.samples import repeats

from specdec_command.measure.benchmark import Load
from specdec_command.measure.compare import Level, levels
from specdec_command.measure.decision import Decision, decide, decide_all, decision_text, summary
from specdec_command.measure.statistics import Ratio

(BASE,) = levels(repeats((1.0,) * 5, (1.0,) * 5))
UP, SAME, DOWN, SLIGHT, UNSURE = (
    Ratio(median=median, low=low, high=high, confidence=0.94)
    for median, low, high in ((1.5, 1.4, 1.6), (1.0, 1.0, 1.0), (0.8, 0.7, 0.9), (0.99, 0.985, 0.995), (1.5, 0.9, 1.6))
)


def level(first: Ratio, token: Ratio | None, speed: Ratio, load: Load = BASE.load) -> Level:
    return replace(BASE, first_token=first, per_token=token, tokens_per_second=speed, load=load)


@pytest.mark.parametrize(
    ("ratios", "decision"),
    [
        ((UP, UP, UP), Decision.KEEP),
        ((SAME, UP, UNSURE), Decision.KEEP),
        ((SLIGHT, UP, UP), Decision.KEEP),
        ((DOWN, DOWN, DOWN), Decision.DROP),
        ((DOWN, UNSURE, SAME), Decision.DROP),
        ((DOWN, UP, UP), Decision.MIXED),
        ((SAME, UP, DOWN), Decision.MIXED),
        ((SAME, UNSURE, SAME), Decision.OPEN),
        ((SLIGHT, None, SAME), Decision.OPEN),
        ((SAME, None, UP), Decision.KEEP),
    ],
)
def test_three_figures_make_one_decision(ratios: tuple[Ratio, Ratio | None, Ratio], decision: Decision) -> None:
    """Faster in one and slower in none is kept; one percent, or what chance explains, does not count."""
    assert decide(level(*ratios)) is decision


def test_a_mixed_decision_has_its_figures_and_their_confidence() -> None:
    """So the reader can weigh them."""
    assert decision_text(level(DOWN, UP, UP)) == (
        "With 1 request at once: mixed: time to first token 0.80x (0.70 to 0.90), time per output token 1.50x "
        "(1.40 to 1.60), tokens/s 1.50x (1.40 to 1.60) (94 % sure)."
    )


def test_loads_that_differ_are_mixed_and_named() -> None:
    """Faster alone and slower at the production rate is the usual failure. A load without a result changes nothing."""
    low, high = level(SAME, UP, UP), level(DOWN, DOWN, DOWN, Load(rate=4.0))
    assert decide_all([low, level(SAME, SAME, SAME)]) is Decision.KEEP
    assert summary([low, high]) == "Conclusion: mixed: keep with 1 request at once; drop with 4 requests a second."
    assert summary([low]) == "Conclusion: keep."
