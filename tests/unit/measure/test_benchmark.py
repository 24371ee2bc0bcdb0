"""The order of turns: both sides equally often first."""

import pytest

from specdec_command.measure.benchmark import Load, Side, interleaved, one_side


def loads(*concurrencies: int) -> tuple[Load, ...]:
    return tuple(Load(concurrency=each) for each in concurrencies)


def test_the_sides_take_turns_at_being_first() -> None:
    """Speculating, plain, plain, speculating, ...: a service that slows down steadily affects both equally."""
    turns = interleaved(loads(1), 4)
    assert "".join(each.side.value[0] for each in turns) == "spps" * 2
    places = {side: sum(index for index, each in enumerate(turns) if each.side is side) for side in Side}
    assert places[Side.SPECULATING] == places[Side.BASELINE]


@pytest.mark.parametrize("repeats", [1, 5, 6])
def test_each_side_has_every_repeat_at_every_concurrency(repeats: int) -> None:
    turns = interleaved(loads(4, 1), repeats)
    assert [each.load.concurrency for each in turns] == [4] * 2 * repeats + [1] * 2 * repeats
    for side in Side:
        assert [each.repeat for each in turns if each.side is side] == [*range(1, repeats + 1)] * 2


def test_one_side_alone_has_the_same_turns() -> None:
    """In place, each half is the other's mirror."""
    both = {(each.load.concurrency, each.repeat) for each in interleaved(loads(1, 8), 5)}
    for side in Side:
        alone = one_side(side, loads(1, 8), 5)
        assert {(each.load.concurrency, each.repeat) for each in alone} == both
        assert {each.side for each in alone} == {side}


def test_a_side_is_warmed_up_where_it_begins() -> None:
    """Before the first repeat at each concurrency, and never between two."""
    assert [each.repeat for each in interleaved(loads(1, 4), 5) if each.first] == [1] * 4
