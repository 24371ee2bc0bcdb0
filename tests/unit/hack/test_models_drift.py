"""hack.models: the second language and the recipe's bounds."""

import pytest
from hack.models import __main__ as verdict
from hack.models import drift

SEED = 11


def test_any_two_words_decide_the_third_and_every_pair_occurs_once() -> None:
    circle = drift.circle(SEED)
    pairs = {(circle[i], circle[(i + 1) % len(circle)]) for i in range(len(circle))}
    assert len(circle) == len(pairs) == drift.WORDS**2


def test_one_word_alone_says_nothing_about_the_next() -> None:
    circle = drift.circle(SEED)
    after_first = {circle[(i + 1) % len(circle)] for i, word in enumerate(circle) if word == circle[0]}
    assert len(after_first) == drift.WORDS


def test_a_seed_gives_one_language_and_another_seed_another() -> None:
    assert drift.circle(SEED) == drift.circle(SEED)
    assert drift.circle(SEED) != drift.circle(SEED + 1)


def test_a_sentence_goes_on_where_another_one_started() -> None:
    assert drift.sentence(SEED, 5, 4).split()[1:] == drift.sentence(SEED, 6, 3).split()


@pytest.mark.parametrize(
    ("code", "other", "good"), [(0.7, 0.0, True), (0.5, 0.0, False), (0.7, 0.1, False), (0.2, 0.4, False)]
)
def test_a_pair_is_good_when_both_acceptance_rates_are_on_their_side(code: float, other: float, good: bool) -> None:
    measured = {
        kind: {"acceptance": rate, "drafted": 1000, "tokens_per_second": 90}
        for kind, rate in {"code": code, "drift": other}.items()
    }
    assert verdict.holds({"speculating": measured}) is good
    assert list(verdict.lines({"speculating": measured}))[-1].endswith("as it must be")


def test_speed_is_said_against_the_plain_server_where_it_was_measured() -> None:
    measured = {kind: {"acceptance": 0.7, "drafted": 10, "tokens_per_second": 150} for kind in ("code", "drift")}
    plain = {kind: {"tokens_per_second": 100} for kind in ("code", "drift")}
    assert "speed 1.50x" in next(iter(verdict.lines({"speculating": measured, "plain": plain})))


@pytest.mark.parametrize(
    ("corrected", "uncorrected", "holds"), [(0.2, 0.7, True), (0.4, 0.7, False), (0.2, 0.3, False)]
)
def test_the_plugin_is_needed_and_is_enough(corrected: float, uncorrected: float, holds: bool) -> None:
    """A correction of a bug that is gone is as wrong as one that does not help."""
    numbers = {"noise": 0.2, "corrected": corrected, "uncorrected": uncorrected}
    assert verdict.sampling_holds(numbers) is holds
    assert "0.20" in verdict.sampling_line(numbers)
