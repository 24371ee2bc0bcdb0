"""Repeats -> figures: medians over prompts, then over repeats; ratios of repeats with the same number."""

import pytest
from tests.unit.measure.samples import repeat, repeats

from specdec_command.measure.benchmark import BenchmarkRound, Load, Side
from specdec_command.measure.compare import Drafting, Repeat, drafting, levels, total
from specdec_operator.guard.counters import Counters

BASELINE = BenchmarkRound(load=Load(concurrency=1), repeat=1, side=Side.BASELINE)


def test_a_repeat_has_the_medians_of_its_answers() -> None:
    found = repeat(BASELINE, 2.0)
    assert found.first_token == pytest.approx(0.2)
    assert found.per_token == pytest.approx(0.2)
    assert (found.tokens, found.tokens_per_second) == (22, 11)


def test_above_one_speculation_is_faster_in_every_ratio() -> None:
    """Half the time is twice the speed, in seconds per token as in tokens per second."""
    (level,) = levels(repeats((1.0,) * 5, (2.0,) * 5))
    assert level.per_token is not None
    assert (level.per_token.median, level.tokens_per_second.median) == (2, 2)
    assert level.first_token.median == 1
    assert level.repeats == 5


def test_ratios_are_of_repeats_with_the_same_number() -> None:
    """A minute that slows both down leaves no trace in the ratio, though it does in the figures."""
    (level,) = levels(repeats((1.0, 4.0, 1.0, 4.0, 1.0), (2.0, 8.0, 2.0, 8.0, 2.0)))
    assert (level.tokens_per_second.low, level.tokens_per_second.high) == (2, 2)
    assert level.plain.tokens_per_second.low < level.plain.tokens_per_second.high


def test_acceptance_is_of_repeats_and_the_counters_are_summed() -> None:
    """The spread over repeats; positions over all of them."""
    (level,) = levels(repeats((1.0,) * 5, (1.0,) * 5))
    figures = level.speculating
    assert figures.acceptance is not None
    assert figures.acceptance.median == 0.75
    assert figures.drafting.by_position == (1.0, 1.0, 0.5, 0.5)
    assert figures.drafting.length == 4
    assert level.plain.acceptance is None
    assert level.plain.drafting.length is None


def test_levels_stay_apart() -> None:
    """Each concurrency is a comparison of its own, in the order of the measurement."""
    found = levels((*repeats((1.0,) * 2, (2.0,) * 2, concurrency=8), *repeats((1.0,) * 2, (1.0,) * 2, concurrency=1)))
    assert [(each.concurrency, each.tokens_per_second.median) for each in found] == [(8, 2), (1, 1)]


def test_answers_are_compared_pair_by_pair() -> None:
    """Same text or not. The baseline is also compared with its own next repeat, which shows the effect of rounding."""
    taken: list[Repeat] = []
    for each in repeats((1.0,) * 3, (1.0,) * 3):
        text = "other" if (each.turn.side, each.turn.repeat) == (Side.BASELINE, 3) else "ok"
        taken.append(repeat(each.turn, text=text))
    (level,) = levels(taken)
    assert (level.equal.same, level.equal.of) == (4, 6)
    assert (level.plain_again.same, level.plain_again.of) == (2, 4)


def counters(tokens: float, started: float = 1.0) -> Counters:
    return Counters(
        drafts=tokens, draft_tokens=4 * tokens, accepted_tokens=tokens, generation_tokens=2 * tokens, started=started
    )


def test_counters_are_read_as_differences_summed_over_pods() -> None:
    """Counts from before do not count."""
    found = drafting({"a": counters(10), "b": counters(5)}, {"a": counters(30), "b": counters(5)})
    assert found == Drafting(drafts=20, drafted=80, accepted=20, generated=40)
    assert total([found, found]).drafted == 160


@pytest.mark.parametrize(
    "later",
    [{"b": counters(20)}, {"a": counters(20), "b": counters(20)}, {"a": counters(5)}, {"a": counters(20, started=9.0)}],
)
def test_an_engine_that_restarted_gives_no_difference(later: dict[str, Counters]) -> None:
    """Another pod, one more, or counters that start again: the repeat is discarded."""
    assert drafting({"a": counters(10)}, later) is None
