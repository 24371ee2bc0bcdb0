"""Values of the wrong type, against the library that the engine reads them with."""

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from specdec_engine import coercion

VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=6),
    st.from_regex(r"[ +-]?[0-9_]{0,4}(\.[0-9]{0,2})?", fullmatch=True),
    st.sampled_from(["true", "YES", "off", "T", " yes", "inf", "1e3", "5.0"]),
    st.lists(st.integers(), max_size=3),
    st.dictionaries(st.text(max_size=2), st.integers(), max_size=1),
)
TYPES: dict[str, Any] = {
    "int": int,
    "bool": bool,
    "str": str,
    "floats": list[float],
    "schedule": list[tuple[int, int, int]],
}


def theirs(kind: str, value: object) -> Any:
    """What the engine's library makes of it; the error's class where it refuses."""
    try:
        return TypeAdapter(TYPES[kind]).validate_python(value)
    except ValidationError:
        return ValueError


def ours(kind: str, value: object) -> Any:
    try:
        return coercion.READERS[kind](value)
    except ValueError:
        return ValueError


@pytest.mark.parametrize("kind", ["int", "bool", "str"])
@given(value=VALUES)
@example(value="1_000")
@example(value="1__0")
@example(value="9" * 5000)
@example(value=1e30)
@example(value="05")
def test_single_values_are_read_as_by_the_engine(kind: str, value: object) -> None:
    """Both accept a value with the same result, or both refuse it."""
    assert ours(kind, value) == theirs(kind, value)


@pytest.mark.parametrize("kind", ["floats", "schedule"])
@given(value=st.one_of(VALUES, st.lists(st.lists(st.integers(0, 9), min_size=2, max_size=4), max_size=3)))
def test_lists_are_read_as_by_the_engine(kind: str, value: object) -> None:
    assert ours(kind, value) == theirs(kind, value)


@pytest.mark.parametrize(("value", "read"), [("0.5", 0.5), (1, 1.0), (True, 1.0), ("1e3", 1000.0), (" 2 ", 2.0)])
def test_numbers_are_taken_from_strings(value: object, read: float) -> None:
    assert coercion.number(value) == read


@pytest.mark.parametrize("value", [None, "x", "", [], {}, 10**400])
def test_other_values_are_refused_as_numbers(value: object) -> None:
    with pytest.raises(ValueError, match="a number"):
        coercion.number(value)
