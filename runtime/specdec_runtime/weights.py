"""Reads the headers of safetensors files, and says whether the bytes that they announce are there.

It never reads a tensor: a file of 100 GB costs one short read.
"""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_LENGTH = struct.Struct("<Q")
# The same limit as the safetensors library has.
_HEADER_LIMIT = 100_000_000
INDEX = "model.safetensors.index.json"


@dataclass(frozen=True, kw_only=True, slots=True)
class Tensor:
    """One entry of a header."""

    dtype: str
    shape: tuple[int, ...]


class BrokenFileError(Exception):
    """A weights file that vLLM would refuse; the message says why."""


def read_header(path: Path) -> Mapping[str, Tensor]:
    """Return the tensors that a file announces, after the announced bytes were compared with its size."""
    size = path.stat().st_size
    with path.open("rb") as file:
        head = file.read(_LENGTH.size)
        if len(head) < _LENGTH.size:
            raise BrokenFileError(f"{path.name} has {size} bytes, too few for a safetensors header")
        (length,) = _LENGTH.unpack(head)
        if length > min(_HEADER_LIMIT, size - _LENGTH.size):
            raise BrokenFileError(f"{path.name} announces a header of {length} bytes but has {size} bytes in all")
        text = file.read(length)
    entries = _entries(path, text)
    _compare_with_size(path, entries, size - _LENGTH.size - length)
    return {name: tensor for name, (tensor, _) in entries.items()}


def _entries(path: Path, text: bytes) -> Mapping[str, tuple[Tensor, int]]:
    """Return each tensor with the end of its bytes."""
    try:
        header = json.loads(text)
        return {
            name: (Tensor(dtype=entry["dtype"], shape=tuple(entry["shape"])), int(entry["data_offsets"][1]))
            for name, entry in header.items()
            if name != "__metadata__"
        }
    except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
        raise BrokenFileError(f"the header of {path.name} is not one of safetensors ({error})") from error


def _compare_with_size(path: Path, entries: Mapping[str, tuple[Tensor, int]], present: int) -> None:
    announced = max((end for _, end in entries.values()), default=0)
    if announced != present:
        raise BrokenFileError(
            f"{path.name} announces {announced} bytes of tensors but holds {present}: "
            "the download or copy was cut off or mixed up"
        )


def shards(folder: Path) -> tuple[Path, ...]:
    """Return the safetensors files that make up the model, as the index names them where there is one."""
    index = folder / INDEX
    if not index.is_file():
        return tuple(sorted(folder.glob("*.safetensors")))
    try:
        names = set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values())
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise BrokenFileError(f"{INDEX} is not an index of safetensors files ({error})") from error
    missing = sorted(name for name in names if not (folder / name).is_file())
    if missing:
        raise BrokenFileError(
            f"{INDEX} names {len(names)} files, and {len(missing)} of them are not there: {', '.join(missing[:3])}"
        )
    return tuple(folder / name for name in sorted(names))
