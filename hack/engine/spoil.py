"""Ways to break a model folder, each as it happens to people: a cut download, a wrong file, another model's part.

Standard library only. Each takes the folder and changes it in place.
"""

from __future__ import annotations

import json
import math
import shutil
import struct
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from hack.models import faults, tensors

if TYPE_CHECKING:
    from pathlib import Path

Spoil = Callable[["Path"], None]
_POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:{}\nsize 1469376\n"


def gone(name: str = "") -> Spoil:
    """A file that is not there; without a name the whole folder."""

    def spoil(folder: Path) -> None:
        if name:
            (folder / name).unlink()
        else:
            shutil.rmtree(folder)

    return spoil


def text(name: str, content: str) -> Spoil:
    """A file with another content."""
    return lambda folder: _write(folder / name, content)


def config(**changes: Any) -> Spoil:
    """Other values in config.json; None takes a key out."""

    def spoil(folder: Path) -> None:
        path = folder / "config.json"
        found = json.loads(path.read_text(encoding="utf-8")) | changes
        _write(path, json.dumps({key: value for key, value in found.items() if value is not None}))

    return spoil


def cut(share: float = 0.5) -> Spoil:
    """Weights of which only the first part arrived."""

    def spoil(folder: Path) -> None:
        path = folder / tensors.FILE
        whole = path.read_bytes()
        path.write_bytes(whole[: int(len(whole) * share)])

    return spoil


def header(content: bytes, length: int | None = None) -> Spoil:
    """Weights whose header is something else, or announces another length."""

    def spoil(folder: Path) -> None:
        (folder / tensors.FILE).write_bytes(struct.pack("<Q", len(content) if length is None else length) + content)

    return spoil


def pointer(folder: Path) -> None:
    """What Git leaves where the large files were not fetched."""
    _write(folder / tensors.FILE, _POINTER.format("0" * 64))


def missing_shard(folder: Path) -> None:
    """An index that names two files, of which one was not copied."""
    names = list(tensors.read(folder / tensors.FILE))
    (folder / tensors.FILE).rename(folder / "model-00001-of-00002.safetensors")
    places = {name: f"model-0000{1 + (i % 2)}-of-00002.safetensors" for i, name in enumerate(names)}
    _write(folder / "model.safetensors.index.json", json.dumps({"weight_map": places}))


def without(*endings: str) -> Spoil:
    """Weights that lack the tensors whose names end, or begin, with one of these."""

    def spoil(folder: Path) -> None:
        found = tensors.read(folder / tensors.FILE)
        kept = {
            name: each for name, each in found.items() if not name.endswith(endings) and not name.startswith(endings)
        }
        tensors.write(folder / tensors.FILE, kept)

    return spoil


def filled(name: str, value: float) -> Spoil:
    """A tensor with one value everywhere: not a number, or zero."""
    half = struct.pack("<f", value)[2:]

    def spoil(folder: Path) -> None:
        found = tensors.read(folder / tensors.FILE)
        old = found[name]
        new = tensors.Tensor(dtype=old.dtype, shape=old.shape, data=half * math.prod(old.shape))
        tensors.write(folder / tensors.FILE, found | {name: new})

    return spoil


def swapped_ids(folder: Path) -> None:
    """A tokenizer of the same size in which the words have each other's ids."""
    path = folder / "tokenizer.json"
    found = json.loads(path.read_text(encoding="utf-8"))
    words = sorted(found["model"]["vocab"].items(), key=lambda each: each[1])
    ids = [i for _, i in words]
    found["model"]["vocab"] = dict(zip([word for word, _ in words], ids[:3] + ids[3:][::-1], strict=True))
    _write(path, json.dumps(found, ensure_ascii=False))


def huge(folder: Path) -> None:
    """Weights that no memory of such a machine holds: a matrix more, of which the file has a hole."""
    path = folder / tensors.FILE
    whole = path.read_bytes()
    (length,) = struct.unpack_from("<Q", whole)
    entries, data = json.loads(whole[8 : 8 + length]), whole[8 + length :]
    size = 1 << 42
    entries["model.experts.weight"] = {
        "dtype": "BF16",
        "shape": [size // 8192, 4096],
        "data_offsets": [len(data), len(data) + size],
    }
    said = json.dumps(entries).encode()
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(said)) + said + data)
        file.truncate(8 + len(said) + len(data) + size)


permuted, untrained, corrupt, short = faults.permute, faults.mix, faults.corrupt, faults.shorten


def _write(path: Path, content: str) -> None:
    path.write_text(content, encoding="utf-8")
