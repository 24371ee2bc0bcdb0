"""What `specdec tune` tries, and in which order."""

import pytest

from specdec_command.measure.benchmark import Load
from specdec_command.measure.prompts import Prompt, parse
from specdec_command.tune.order import TuneRound, prompts_of, rounds, tokens_to_try
from specdec_operator.errors import Invalid

PROMPTS = parse("".join(f'{{"prompt": "{number}"}}\n' for number in range(24)), "many.jsonl")


@pytest.mark.parametrize(
    ("most", "wanted", "expected"),
    [
        (1, (), (0, 1)),
        (5, (), (0, 1, 2, 3, 4, 5)),
        (6, (), (0, 1, 2, 4, 6)),
        (16, (), (0, 1, 2, 4, 8, 16)),
        (5, (2, 0), (0, 2, 5)),
        (5, (5,), (5,)),
    ],
)
def test_the_requested_number_is_always_tried(most: int, wanted: tuple[int, ...], expected: tuple[int, ...]) -> None:
    """All others are compared with it."""
    assert tokens_to_try(most, wanted) == expected


def test_more_than_the_flags_ask_for_is_refused() -> None:
    """A dial only lowers."""
    with pytest.raises(Invalid, match="--tokens: 8: must be numbers up to 5"):
        tokens_to_try(5, (2, 8))


def test_each_repeat_has_every_number_once_in_an_order_of_its_own() -> None:
    """Which is the same in every run."""
    turns = rounds((1, 4), (0, 2, 5), 40)
    assert [each.number for each in turns] == [*range(1, 241)]
    assert turns == rounds((1, 4), (0, 2, 5), 40)
    repeats = [turns[first : first + 3] for first in range(0, 240, 3)]
    assert all({each.tokens for each in repeat} == {0, 2, 5} for repeat in repeats)
    assert all(len({(each.load, each.repeat) for each in repeat}) == 1 for repeat in repeats)
    orders = [[each.tokens for each in repeat] for repeat in repeats]
    assert all(later == earlier[::-1] for earlier, later in zip(orders[::2], orders[1::2], strict=True))
    assert len({*map(tuple, orders)}) == 6


def test_of_two_numbers_each_is_first_as_often() -> None:
    """The first round of a repeat may be slower for a reason of its own."""
    turns = rounds((1, 4, 16), (2, 4), 6)
    firsts = [turns[first] for first in range(0, len(turns), 2)]
    assert {each.load.concurrency: 0 for each in firsts} == {1: 0, 4: 0, 16: 0}
    for load in (1, 4, 16):
        assert [each.tokens for each in firsts if each.load.concurrency == load].count(4) == 3


def _asked(concurrency: int, repeat: int, tokens: int = 2) -> tuple[Prompt, ...]:
    turn = TuneRound(number=1, load=Load(concurrency=concurrency), repeat=repeat, tokens=tokens)
    return prompts_of(turn, PROMPTS)


def test_all_numbers_of_a_repeat_are_asked_the_same_prompts() -> None:
    """Three for each request at once, eight at least; the next repeat goes on with the next ones, and around."""
    assert _asked(1, 1, 0) == _asked(1, 1, 5) == PROMPTS[:8]
    assert (_asked(1, 2), _asked(1, 4)) == (PROMPTS[8:16], PROMPTS[:8])
    assert (_asked(4, 2), len(_asked(16, 1))) == (PROMPTS[12:], 48)
