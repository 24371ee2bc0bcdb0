"""The number of draft tokens at each load, by its rounds, and the patch."""

from typing import Any

import pytest
from tests.unit.tune.samples import SERVICE, repeats, tuning

from specdec_command.tune.order import Limits
from specdec_command.tune.patch import patch_of, problems_of


@pytest.mark.parametrize(
    ("seconds", "chosen", "why"),
    [
        ({0: 2.0, 2: 1.0, 4: 1.5}, 2, "1.50 times as fast as 4 (1.50 to 1.50)"),
        ({0: 1.0, 2: 1.2, 4: 1.5}, 0, "1.50 times as fast as 4 (1.50 to 1.50)"),
        ({0: 2.0, 2: 1.49, 4: 1.5}, 4, "no other number is surely faster"),
        ({0: 2.0, 2: 1.6, 4: 1.5}, 4, "no other number is surely faster"),
        ({4: 1.5}, 4, "no other number is surely faster"),
    ],
)
def test_the_surely_fastest_number_is_chosen(seconds: dict[int, float], chosen: int, why: str) -> None:
    """What is less than 2 % faster changes nothing."""
    (load,) = tuning(repeats(1, seconds)).loads
    assert (load.tokens, load.why, load.repeats) == (chosen, why, 8)


def test_repeats_are_compared_pair_by_pair() -> None:
    """A slow minute hits all numbers of a repeat, and changes no ratio."""
    (load,) = tuning(repeats(1, {2: 1.0, 4: 1.1}, scatter=3.0)).loads
    assert load.tokens == 2
    (speed,) = [each.speed for each in load.tried if each.speed]
    assert (speed.low, speed.high) == pytest.approx((1.1, 1.1))


def test_one_repeat_that_differs_leaves_it_open() -> None:
    """The interval of eight repeats reaches from the least to the greatest, where several numbers are compared."""
    found = repeats(1, {0: 2.0, 2: 1.0, 3: 3.0, 4: 1.5})
    slow = next(each for each in found if (each.turn.tokens, each.turn.repeat) == (2, 5))
    found[found.index(slow)] = repeats(1, {2: 1.6}, count=5)[-1]
    (load,) = tuning(found).loads
    assert load.tokens == 4


@pytest.mark.parametrize(
    ("limits", "chosen", "words"),
    [
        (Limits(per_token=0.11), 0, "4 are beyond the limits; 0.83 times as fast as 4 (0.83 to 0.83)"),
        (Limits(per_token=0.13), 4, "no other number is surely faster"),
        (Limits(per_token=0.01), 4, "no other number is surely faster; no number keeps the limits"),
        (Limits(first_token=0.05), 4, "no other number is surely faster; no number keeps the limits"),
    ],
)
def test_limits_come_before_speed(limits: Limits, chosen: int, words: str) -> None:
    """Of the numbers that keep them the fastest, though it is slower than the requested one."""
    found = repeats(1, {0: 1.2, 4: 1.0}, per_token={0: 0.1, 4: 0.12})
    (load,) = tuning(found, limits).loads
    assert (load.tokens, load.why) == (chosen, words)


ROWS = {"spec": {"speculation": {"tokensByBatchSize": [{"upTo": 2, "tokens": 4}, {"tokens": 0}]}}}
LOADS = {
    "same": ({1: 4, 8: 4}, {}),
    "none": ({1: 0, 8: 0}, {"spec": {"speculation": None}}),
    "fewer": ({1: 2, 8: 2}, {"spec": {"speculation": {"tokens": 2}}}),
    "by load": (
        {1: 4, 2: 4, 4: 2, 8: 0},
        {
            "spec": {
                "speculation": {
                    "tokensByBatchSize": [{"upTo": 2, "tokens": 4}, {"upTo": 4, "tokens": 2}, {"tokens": 0}],
                }
            }
        },
    ),
}


@pytest.mark.parametrize(("best", "patch"), LOADS.values(), ids=LOADS)
def test_the_patch_has_what_is_best_at_each_load(best: dict[int, int], patch: dict[str, Any]) -> None:
    """Rows reach up to the load that was tried; the last one holds for all larger loads. All are taken."""
    found = [
        each
        for concurrency, tokens in best.items()
        for each in repeats(concurrency, {other: 1.0 if other == tokens else 2.0 for other in (0, 2, 4)})
    ]
    loads = tuning(found).loads
    assert patch_of(loads, 4, 1) == patch
    assert [*problems_of(SERVICE, patch)] == []


def test_rows_count_the_requests_of_one_pod() -> None:
    """Loads that are one load for a pod get the smaller number."""
    best = {1: 4, 4: 2, 8: 2, 32: 0}
    found = [
        each
        for concurrency, tokens in best.items()
        for each in repeats(concurrency, {other: 1.0 if other == tokens else 2.0 for other in (0, 2, 4)})
    ]
    rows = patch_of(tuning(found).loads, 4, 4)["spec"]["speculation"]["tokensByBatchSize"]
    assert rows == [{"upTo": 2, "tokens": 2}, {"tokens": 0}]


def test_an_engine_that_does_not_use_the_patch_is_named() -> None:
    """The second model runner drafts all tokens, whatever the rows are."""
    problems = [*problems_of({**SERVICE, "spec": SERVICE["spec"] | {"engine": {"accelerator": "nvidia"}}}, ROWS)]
    assert [each for each in problems if "every step still drafts all" in each]


def test_an_engine_that_does_not_take_the_patch_is_named() -> None:
    """By the rule of `specdec validate`."""
    old = {**SERVICE, "spec": SERVICE["spec"] | {"engine": {"version": "0.20.0"}}}
    problems = [*problems_of(old, LOADS["by load"][1])]
    assert len(problems) == 1
    assert "tokensByBatchSize" in problems[0] or "per_batch_size" in problems[0]
