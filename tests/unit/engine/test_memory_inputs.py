"""Quantities and reserves as users write them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specdec_engine.memory.inputs import AUTO, NONE, ReserveKind, parse_reserve
from specdec_engine.quantity import parse_quantity


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("80Gi", 80 * 1024**3),
        ("512Mi", 512 * 1024**2),
        ("2G", 2 * 10**9),
        ("1.5Gi", 3 * 1024**3 // 2),
        ("1Ti", 1024**4),
        ("64k", 64_000),
        ("3Ki", 3072),
        ("7T", 7 * 10**12),
        ("10M", 10**7),
        ("1073741824", 1024**3),
        ("0.1Ki", 103),  # 102.4 bytes
    ],
)
def test_a_quantity_is_bytes(text: str, size: int) -> None:
    assert parse_quantity(text) == size


@pytest.mark.parametrize(
    "text", ["", "Gi", "80GB", "80 Gi", "-1Gi", "1e9", "500m", "0", "0Gi", "0.0Mi", "80gi", "1.Gi"]
)
def test_anything_else_is_refused_with_its_text(text: str) -> None:
    with pytest.raises(ValueError, match="write") as caught:
        parse_quantity(text)
    assert repr(text) in str(caught.value)


@given(st.integers(1, 10**6), st.sampled_from([("Ki", 1), ("Mi", 2), ("Gi", 3), ("Ti", 4)]))
def test_binary_units_are_powers_of_1024(number: int, unit: tuple[str, int]) -> None:
    assert parse_quantity(f"{number}{unit[0]}") == number * 1024 ** unit[1]


@pytest.mark.parametrize(
    ("text", "kind", "amount"),
    [
        ("6%", ReserveKind.SHARE, 60_000),
        ("6.25 %", ReserveKind.SHARE, 62_500),
        ("0.5%", ReserveKind.SHARE, 5_000),
        ("99%", ReserveKind.SHARE, 990_000),
        ("2Gi", ReserveKind.BYTES, 2 * 1024**3),
        ("500M", ReserveKind.BYTES, 500 * 10**6),
    ],
)
def test_a_reserve_is_a_share_or_an_amount(text: str, kind: ReserveKind, amount: int) -> None:
    reserve = parse_reserve(text)
    assert (reserve.kind, reserve.amount, reserve.text) == (kind, amount, text)


def test_auto_and_none_are_words() -> None:
    assert parse_reserve("Auto") is AUTO
    assert parse_reserve("None") is NONE


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("auto", "Auto, Counted, None"),
        ("", "Auto, Counted, None"),
        ("6 percent", "Auto, Counted, None"),
        ("-6%", "more than 0%"),
        ("100%", "less than 100%"),
        ("0%", "reserves nothing"),
        ("0", "Auto, Counted, None"),
        ("0.06", "percentage"),  # a share that was meant, but reads as a part of one byte
    ],
)
def test_an_invalid_reserve_is_refused_with_the_valid_form(text: str, says: str) -> None:
    with pytest.raises(ValueError, match=says) as caught:
        parse_reserve(text)
    assert repr(text) in str(caught.value)
