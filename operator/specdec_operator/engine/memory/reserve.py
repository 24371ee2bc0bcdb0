"""What a user says about memory: quantities such as `80Gi`, and the reserve for a draft."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

_UNITS: Final[Mapping[str, int]] = {
    "": 1,
    **{unit: 1000**power for power, unit in enumerate("kMGTPE", start=1)},
    **{f"{unit}i": 1024**power for power, unit in enumerate("KMGTPE", start=1)},
}
_QUANTITY: Final = re.compile(r"(\d{1,18})(?:\.(\d{1,9}))?([KMGTPE]i|[kMGTPE])?")
_PERCENT: Final = re.compile(r"(\d{1,2})(?:\.(\d{1,4}))?\s?%")


class ReserveKind(StrEnum):
    """How the utilisation is lowered for a draft."""

    AUTO = "Auto"
    """By what the engine does not count itself and what is left of the device does not hold."""
    NONE = "None"
    """Not at all."""
    SHARE = "share"
    """By a share of the device."""
    BYTES = "bytes"
    """By an amount of bytes on each device."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reserve:
    """A reserve for the draft, `text` as written. amount: millionths of the device, or bytes; 0 for AUTO and NONE."""

    kind: ReserveKind
    amount: int = 0
    text: str


AUTO: Final = Reserve(kind=ReserveKind.AUTO, text="Auto")
NONE: Final = Reserve(kind=ReserveKind.NONE, text="None")


def parse_quantity(text: str) -> int:
    """Bytes in a Kubernetes quantity: `80Gi`, `1.5G`, `500M`, `1024`; fractions of a byte are rounded up.

    Raises ValueError for anything else, and for nothing (0).
    """
    if not (found := _QUANTITY.fullmatch(text)):
        raise ValueError(f"{text!r} is no amount of memory; write bytes with a unit, such as 80Gi, 512Mi or 2G")
    whole, fraction, unit = found.groups()
    scale: int = 10 ** len(fraction or "")
    amount = -(-int(whole + (fraction or "")) * _UNITS[unit or ""] // scale)
    if amount == 0:
        raise ValueError(f"{text!r} is no memory at all; write more than 0")
    return amount


def parse_reserve(text: str) -> Reserve:
    """`Auto`, `None`, a share of the device (`6%`) or an amount (`2Gi`).

    Raises ValueError for anything else, for 0 and for 100 % and more.
    """
    if text in (ReserveKind.AUTO, ReserveKind.NONE):
        return AUTO if text == ReserveKind.AUTO else NONE
    if text.endswith("%"):
        return Reserve(kind=ReserveKind.SHARE, amount=_millionths(text), text=text)
    try:
        amount = parse_quantity(text)
    except ValueError as problem:
        raise ValueError(
            f"{text!r} is no reserve; write Auto, None, a share such as 6%, or an amount such as 2Gi"
        ) from problem
    if "." in text and amount < 100:
        raise ValueError(
            f"{text!r} would reserve {amount} bytes; for a share of the device write a percentage, such as 6%"
        )
    return Reserve(kind=ReserveKind.BYTES, amount=amount, text=text)


def _millionths(text: str) -> int:
    if not (found := _PERCENT.fullmatch(text)):
        raise ValueError(f"{text!r} is no share of the device; write more than 0% and less than 100%, such as 6%")
    whole, fraction = found.groups()
    amount = int(whole) * 10_000 + int((fraction or "").ljust(4, "0"))
    if amount == 0:
        raise ValueError(f"{text!r} reserves nothing; write None, or more than 0%")
    return amount
