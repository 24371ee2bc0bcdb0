"""Reads and writes whole safetensors files, standard library only, to make faulty and rearranged ones."""

import json
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_LENGTH: Final = struct.Struct("<Q")
FILE: Final = "model.safetensors"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tensor:
    """One tensor. dtype: in the words of the format, such as BF16."""

    dtype: str
    shape: tuple[int, ...]
    data: bytes

    def rows(self) -> list[bytes]:
        """The bytes of each row of the first dimension."""
        size = len(self.data) // self.shape[0]
        return [self.data[at : at + size] for at in range(0, len(self.data), size)]

    def reordered(self, order: list[int]) -> "Tensor":
        """The same rows in another order."""
        rows = self.rows()
        return Tensor(dtype=self.dtype, shape=self.shape, data=b"".join(rows[i] for i in order))


def read(path: Path) -> dict[str, Tensor]:
    """Return all tensors of a file, in its order."""
    whole = path.read_bytes()
    (length,) = _LENGTH.unpack_from(whole)
    base = _LENGTH.size + length
    header = json.loads(whole[_LENGTH.size : base])
    found = sorted((entry["data_offsets"], name, entry) for name, entry in header.items() if name != "__metadata__")
    return {
        name: Tensor(dtype=entry["dtype"], shape=tuple(entry["shape"]), data=whole[base + begin : base + end])
        for (begin, end), name, entry in found
    }


def write(path: Path, tensors: Mapping[str, Tensor]) -> None:
    """Write tensors one after the other."""
    header: dict[str, object] = {"__metadata__": {"format": "pt"}}
    at = 0
    for name, tensor in tensors.items():
        end = at + len(tensor.data)
        header[name] = {"dtype": tensor.dtype, "shape": list(tensor.shape), "data_offsets": [at, end]}
        at = end
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(_LENGTH.pack(len(text)) + text + b"".join(each.data for each in tensors.values()))
