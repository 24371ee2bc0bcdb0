"""Whether the acceptance length falls while the KV cache fills."""

from dataclasses import replace

import pytest

from specdec_operator.guard.cache_use import CacheReading, length_fall


def reading(used: float, rate: float, *, drafts: float = 500.0, tokens: int = 4) -> CacheReading:
    return CacheReading(used=used, drafts=drafts, draft_tokens=tokens * drafts, accepted_tokens=rate * tokens * drafts)


FALLING = [reading(0.1, 0.7), reading(0.5, 0.6), reading(0.9, 0.4)]


def test_a_length_that_falls_as_the_cache_fills_is_found_with_both_ends() -> None:
    """The lengths, and how much of the cache was in use; in any order of the readings."""
    for readings in (FALLING, FALLING[::-1]):
        found = length_fall(readings)
        assert found is not None
        assert found.message == (
            "the acceptance length falls from 3.80 to 2.60 tokens per step while the KV cache fills from 10 % to 90 %"
        )


@pytest.mark.parametrize(
    "readings",
    [
        [],
        [reading(0.1, 0.7, drafts=0.0)],
        [reading(0.1, 0.7), reading(0.3, 0.4)],
        [reading(0.05, 0.7), reading(0.4, 0.4)],
        [reading(0.1, 0.7), reading(0.9, 0.68)],
        [reading(0.1, 0.4), reading(0.9, 0.7)],
        [reading(0.1, 0.7, drafts=50.0), reading(0.9, 0.4)],
    ],
    ids=["nothing", "no drafts", "a small range", "an empty cache", "hardly lower", "higher", "few drafts"],
)
def test_nothing_is_found_without_a_fall(readings: list[CacheReading]) -> None:
    """Each lacks one thing that the first test has."""
    assert length_fall(readings) is None


def test_fewer_tokens_per_step_under_load_do_not_count_as_a_fall() -> None:
    """A schedule drafts fewer tokens for a large batch: the length falls, and the share that is accepted does not."""
    assert length_fall([reading(0.1, 0.7), reading(0.9, 0.7, tokens=2)]) is None


def test_chance_does_not_count_as_a_fall() -> None:
    """A length that is a tenth lower after 120 drafts can be chance; after 5,000 it is not."""
    readings = [reading(0.1, 0.50, drafts=120.0), reading(0.9, 0.42, drafts=120.0)]
    assert length_fall(readings) is None
    assert (
        length_fall(
            replace(each, drafts=5000.0, draft_tokens=20_000.0, accepted_tokens=accepted)
            for each, accepted in zip(readings, (10_000.0, 8_400.0), strict=True)
        )
        is not None
    )
