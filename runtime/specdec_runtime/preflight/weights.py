"""Reads the headers of safetensors files, and checks whether the bytes that they announce exist.

It never reads a tensor: a file of 100 GB costs one short read.
"""

from __future__ import annotations

import json
import math
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_LENGTH = struct.Struct("<Q")
# The same limit as the safetensors library has.
_HEADER_LIMIT = 100_000_000
INDEX = "model.safetensors.index.json"
BITS: Final = {
    **dict.fromkeys(("F64", "I64", "U64", "C64"), 64),
    **dict.fromkeys(("F32", "I32", "U32"), 32),
    **dict.fromkeys(("F16", "BF16", "I16", "U16"), 16),
    **dict.fromkeys(("I8", "U8", "BOOL", "F8_E4M3", "F8_E5M2", "F8_E8M0", "F8_E4M3FNUZ", "F8_E5M2FNUZ"), 8),
    **dict.fromkeys(("F6_E2M3", "F6_E3M2"), 6),
    "F4": 4,
}
"""Bits of one element by dtype; a dtype that is not here is one that safetensors may have learnt since."""
PLAIN: Final = frozenset({"F32", "F16", "BF16"})
"""Types in which a weight is stored as it is used; others are packed or scaled and have shapes of their own."""
_POINTER = b"version https://git-lfs"


@dataclass(frozen=True, kw_only=True, slots=True)
class TensorEntry:
    """One entry of a header. begin, end: where its bytes lie in the file."""

    dtype: str
    shape: tuple[int, ...]
    file: Path
    begin: int
    end: int

    @property
    def elements(self) -> int:
        """How many numbers it holds."""
        return math.prod(self.shape)


class BrokenFileError(Exception):
    """A weights file that vLLM would refuse; the message has the reason."""


def read_all(folder: Path) -> Mapping[str, TensorEntry]:
    """Return every tensor of a model. Raises BrokenFileError for a file that is torn, or an index that is wrong."""
    index = _index(folder)
    files = sorted({folder / name for name in index.values()}) if index else _found(folder)
    tensors: dict[str, TensorEntry] = {}
    for file in files:
        tensors.update(read_header(file))
    astray = [name for name in index if name not in tensors]
    if astray:
        raise BrokenFileError(
            f"{INDEX} names {len(astray)} tensors that no file has, first {astray[0]} in {index[astray[0]]}: index "
            "and files are from different uploads"
        )
    return tensors


def read_header(path: Path) -> Mapping[str, TensorEntry]:
    """Return the tensors that a file announces, after the announced bytes were compared with its size."""
    size = path.stat().st_size
    with path.open("rb") as file:
        head = file.read(_LENGTH.size)
        if is_pointer(head + file.read(len(_POINTER))):
            raise BrokenFileError(
                f"{path.name} is a Git LFS pointer ({size} bytes), not the weights: run `git lfs pull`, or download "
                "the file itself"
            )
        if len(head) < _LENGTH.size:
            raise BrokenFileError(f"{path.name} has {size} bytes, too few for a safetensors header")
        (length,) = _LENGTH.unpack(head)
        if length > min(_HEADER_LIMIT, size - _LENGTH.size):
            raise BrokenFileError(
                f"{path.name} has a header length of {length} bytes, but the file has only {size} bytes"
            )
        file.seek(_LENGTH.size)
        text = file.read(length)
    tensors = _entries(path, text, _LENGTH.size + length)
    _cover(path, tensors, _LENGTH.size + length, size)
    return tensors


def is_pointer(head: bytes) -> bool:
    """Whether a file begins like the few lines that Git LFS leaves in the place of a large file."""
    return head.startswith(_POINTER)


def _entries(path: Path, text: bytes, base: int) -> Mapping[str, TensorEntry]:
    try:
        header = json.loads(text)
        return {name: _tensor(path, entry, base) for name, entry in header.items() if name != "__metadata__"}
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError) as error:
        raise BrokenFileError(f"the header of {path.name} is not a safetensors header ({error})") from error


def _tensor(path: Path, entry: Mapping[str, object], base: int) -> TensorEntry:
    match entry:
        case {"dtype": str(dtype), "shape": [*shape], "data_offsets": [int(begin), int(end)]}:
            pass
        case _:
            raise ValueError(f"an entry is {str(entry)[:80]}")
    lengths = tuple(each for each in shape if isinstance(each, int) and each >= 0)
    if len(lengths) != len(shape) or not 0 <= begin <= end:
        raise ValueError(f"shape {shape} or offsets {[begin, end]} of an entry are not valid")
    if dtype in BITS and (math.prod(lengths) * BITS[dtype] + 7) // 8 != end - begin:
        raise ValueError(f"a {dtype} tensor of shape {shape} has {end - begin} bytes")
    return TensorEntry(dtype=dtype, shape=lengths, file=path, begin=base + begin, end=base + end)


def _cover(path: Path, tensors: Mapping[str, TensorEntry], base: int, size: int) -> None:
    """Compare the announced bytes with the file: without a gap, without an overlap, to the last byte."""
    at = base
    for tensor in sorted(tensors.values(), key=lambda each: (each.begin, each.end)):
        if tensor.begin != at:
            raise BrokenFileError(
                f"the header of {path.name} lets tensors {'overlap' if tensor.begin < at else 'leave a gap'} "
                f"at byte {tensor.begin}"
            )
        at = tensor.end
    if at != size:
        raise BrokenFileError(
            f"{path.name} should have {at - base} bytes of tensors, but has {size - base}: the download or copy is "
            "incomplete or wrong"
        )


def _found(folder: Path) -> list[Path]:
    """Return the safetensors files that vLLM would load where there is no index: not those in the original layout."""
    files = sorted(folder.glob("*.safetensors"))
    others = [each for each in files if not each.name.startswith("consolidated")]
    return others or files


def _index(folder: Path) -> Mapping[str, str]:
    """Return the file of each tensor as the index names it; nothing where there is no index."""
    index = folder / INDEX
    if not index.is_file():
        return {}
    try:
        names = {str(name): str(file) for name, file in json.loads(index.read_bytes())["weight_map"].items()}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise BrokenFileError(f"{INDEX} is not an index of safetensors files ({error})") from error
    files = sorted(set(names.values()))
    missing = [name for name in files if not (folder / name).is_file()]
    if missing:
        raise BrokenFileError(
            f"{INDEX} names {len(files)} files, and {len(missing)} of them are missing: {', '.join(missing[:3])}"
        )
    return names
