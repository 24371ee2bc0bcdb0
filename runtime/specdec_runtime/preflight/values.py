"""Reads a few short stretches of the numbers in a model's weights, and sums each up.

A megabyte in all, whatever the size of the model: enough for a torn or scrambled file, never a proof that all is well.
"""

from __future__ import annotations

import array
import math
import re
import statistics
import struct
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from specdec_runtime.preflight.weights import PLAIN, TensorEntry

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

STRETCH: Final = 2048
"""Bytes read at one place: a thousand bf16 numbers, whose median is steady."""
PLACES: Final = 240
"""Places in one model: 480 KiB, so that target and draft together stay below 1 MiB."""
TAILS: Final = (2_048, 16_384, 65_536, 131_072)
"""Bytes before the end of each file at which it is read in addition: damage is mostly at the end."""
_FILES: Final = 8
"""Files whose ends are looked at; a model of 200 shards would else be nothing but ends."""
PASSAGE: Final = re.compile(r"(?:^|\.)(?:embed_tokens|lm_head|fc|norm)\.weight$")
"""Tensors that every draft passes through: one that is damaged is enough for no draft to be accepted."""
_IN_PASSAGE: Final = 4
TABLES: Final = ("embed_tokens.weight", "lm_head.weight")
"""One row for each token. The last rows may be padding, in which anything may lie: they are not looked at."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TensorSample:
    """What a few hundred numbers of one tensor look like. Magnitudes are without sign, of the finite numbers."""

    tensor: str
    flat: bool
    """Whether the tensor is a vector: a norm or a bias."""
    whole: bool
    """Whether this is all of the tensor."""
    count: int
    unreal: int
    """How many are NaN or infinite."""
    zeros: int
    largest: float
    median: float


def look(tensors: Mapping[str, TensorEntry]) -> tuple[TensorSample, ...]:
    """Read the stretches of one model: of weights only, scales and tables of other names may hold anything.

    Raises OSError where a file cannot be read.
    """
    floats = sorted(
        (
            (name, each)
            for name, each in tensors.items()
            if each.dtype in PLAIN and each.elements and name.endswith("weight")
        ),
        key=lambda pair: (pair[1].file, pair[1].begin),
    )
    places = sorted(set(_spread(floats)) | set(_tails(floats)))
    return tuple(_read(name, tensors[name], begin) for name, begin in places)


def _spread(floats: Sequence[tuple[str, TensorEntry]]) -> Iterator[tuple[str, int]]:
    """Yield places over the whole model: as many in each tensor, or one in every n-th; more in those that all pass."""
    step, share = math.ceil(len(floats) / PLACES) or 1, max(1, PLACES // max(1, len(floats)))
    for at, (name, tensor) in enumerate(floats):
        places = max(share if at % step == 0 else 0, _IN_PASSAGE if PASSAGE.search(name) else 0)
        length = _looked_at(name, tensor)
        for number in range(places):
            yield name, tensor.begin + length * (2 * number + 1) // (2 * places) // STRETCH * STRETCH


def _looked_at(name: str, tensor: TensorEntry) -> int:
    whole = tensor.end - tensor.begin
    return whole // 2 if name.endswith(TABLES) else whole


def _tails(floats: Sequence[tuple[str, TensorEntry]]) -> Iterator[tuple[str, int]]:
    """Yield places shortly before the end of files."""
    files = sorted({tensor.file for _, tensor in floats})
    for file in files[:: math.ceil(len(files) / _FILES) or 1]:
        inside = [(name, tensor) for name, tensor in floats if tensor.file == file]
        end = max(tensor.end for _, tensor in inside)
        for name, tensor in inside:
            for back in TAILS:
                at = end - back - tensor.begin
                if 0 <= at < _looked_at(name, tensor):
                    yield name, tensor.begin + at // STRETCH * STRETCH


def _read(name: str, tensor: TensorEntry, begin: int) -> TensorSample:
    with tensor.file.open("rb") as file:
        file.seek(begin)
        numbers = decode(file.read(min(STRETCH, tensor.end - begin)), tensor.dtype)
    real = [abs(each) for each in numbers if math.isfinite(each)]
    return TensorSample(
        tensor=name,
        flat=len(tensor.shape) < 2,
        whole=len(numbers) == tensor.elements,
        count=len(numbers),
        unreal=len(numbers) - len(real),
        zeros=sum(each == 0 for each in real),
        largest=max(real, default=0.0),
        median=statistics.median(real) if real else 0.0,
    )


def decode(raw: bytes, dtype: str) -> Sequence[float]:
    """Return the numbers of little-endian BF16, F16 or F32 bytes."""
    if dtype == "F16":
        return struct.unpack(f"<{len(raw) // 2}e", raw[: len(raw) // 2 * 2])
    if dtype == "F32":
        return struct.unpack(f"<{len(raw) // 4}f", raw[: len(raw) // 4 * 4])
    halves = array.array("H", raw[: len(raw) // 2 * 2])
    if sys.byteorder == "big":
        halves.byteswap()
    return struct.unpack(f"<{len(halves)}f", struct.pack(f"<{len(halves)}I", *(each << 16 for each in halves)))
