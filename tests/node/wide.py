"""A draft that guesses as the trained one does, and takes as much memory as is asked for: its layers are made wider by
copies of themselves, half of which take away what the others add. Zeros would not do: the preflight refuses them.
"""

import json
import shutil
from pathlib import Path
from typing import Final

from hack.models import tensors

_INTO: Final = ("gate_proj", "up_proj")
_OUT: Final = "down_proj"
"""Matrices of a layer into its wide side, and out of it."""
_BYTES: Final = 2
_SIGN: Final = 0x80


def ensure(models: Path, mebibytes: int) -> str:
    """Make a draft with about so many MiB of weights next to the trained one, unless it exists; return its name."""
    name = f"draft-wide-{mebibytes}"
    if not (models / name).exists():
        unfinished = models / f".{name}"
        shutil.rmtree(unfinished, ignore_errors=True)
        shutil.copytree(models / "draft", unfinished)
        _widen(unfinished, mebibytes * 1024**2)
        unfinished.rename(models / name)
    return name


def _widen(draft: Path, size: int) -> None:
    config = json.loads((draft / "config.json").read_text(encoding="utf-8"))
    found = tensors.read(draft / tensors.FILE)
    wide = [each for name, each in found.items() if any(f".{word}." in name for word in (*_INTO, _OUT))]
    pairs = size // (2 * sum(len(each.data) for each in wide))
    tensors.write(draft / tensors.FILE, {name: _widened(name, each, pairs) for name, each in found.items()})
    text = json.dumps(config | {"intermediate_size": config["intermediate_size"] * (1 + 2 * pairs)}, indent=2)
    (draft / "config.json").write_text(f"{text}\n", encoding="utf-8")


def _widened(name: str, tensor: tensors.Tensor, pairs: int) -> tensors.Tensor:
    times = 1 + 2 * pairs
    if any(f".{each}." in name for each in _INTO):
        rows, columns = tensor.shape
        return tensors.Tensor(dtype=tensor.dtype, shape=(rows * times, columns), data=tensor.data * times)
    if f".{_OUT}." in name:
        rows, columns = tensor.shape
        data = b"".join(row + (row + _negative(row)) * pairs for row in tensor.rows())
        return tensors.Tensor(dtype=tensor.dtype, shape=(rows, columns * times), data=data)
    return tensor


def _negative(numbers: bytes) -> bytes:
    """Numbers of two bytes, the sign in the second, with the other sign."""
    return bytes(each ^ _SIGN if at % _BYTES else each for at, each in enumerate(numbers))
