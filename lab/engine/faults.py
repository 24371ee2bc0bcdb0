"""The faults of faults.yaml, and the ways to break a model folder, each as it happens to people: a cut download, a
wrong file, another model's part. Each way takes the folder and changes it in place.
"""

import json
import math
import shutil
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

import yaml
from hack.models import faults, tensors

from lab.engine.cases import METHODS, MethodCase

_POINTER: Final = "version https://git-lfs.github.com/spec/v1\noid sha256:{}\nsize 1469376\n"


class Layer(StrEnum):
    """What catches a fault, from the earliest to the last."""

    PREFLIGHT = "preflight"
    START = "start"
    PROVE = "prove"
    GUARD = "guard"


@dataclass(frozen=True, kw_only=True, slots=True)
class Fault:
    """One thing that is wrong; faults.yaml describes the fields."""

    what: str
    layer: Layer
    word: str
    method: str = "draft_model"
    breaks: str = "draft"
    how: tuple[Any, ...] | None = None
    speculation: Mapping[str, Any] = field(default_factory=dict)
    draft: str | None = None
    flags: tuple[str, ...] = ()
    tokens: int = 96

    def asked(self) -> MethodCase:
        """Return the method with what is wrong in the spec itself."""
        base = next(each for each in METHODS if each.name == self.method)
        speculation = {**base.speculation, **self.speculation}
        return replace(base, name=self.what, speculation=speculation, draft=self.draft or base.draft)

    def spoil(self, models: Path) -> None:
        """Break the model that is to be broken, in a folder with copies."""
        if self.how is not None:
            method = self.asked()
            name, *arguments = self.how
            _WAYS[name](models / str(method.target if self.breaks == "target" else method.draft), *arguments)


def gone(folder: Path, name: str = "") -> None:
    """A file that is not there; without a name the whole folder."""
    if name:
        (folder / name).unlink()
    else:
        shutil.rmtree(folder)


def text(folder: Path, name: str, content: str) -> None:
    """A file with another content."""
    (folder / name).write_text(content, encoding="utf-8")


def config(folder: Path, changes: Mapping[str, Any]) -> None:
    """Other values in config.json; None takes a key out."""
    found = json.loads((folder / "config.json").read_text(encoding="utf-8")) | changes
    text(folder, "config.json", json.dumps({key: value for key, value in found.items() if value is not None}))


def cut(folder: Path, share: float) -> None:
    """Weights of which only the first part arrived."""
    whole = (folder / tensors.FILE).read_bytes()
    (folder / tensors.FILE).write_bytes(whole[: int(len(whole) * share)])


def header(folder: Path, content: str, length: int) -> None:
    """Weights whose header is something else, or announces another length."""
    (folder / tensors.FILE).write_bytes(struct.pack("<Q", length) + content.encode())


def pointer(folder: Path) -> None:
    """What Git leaves where the large files were not fetched."""
    text(folder, tensors.FILE, _POINTER.format("0" * 64))


def missing_shard(folder: Path) -> None:
    """An index that names two files, of which one was not copied."""
    names = list(tensors.read(folder / tensors.FILE))
    (folder / tensors.FILE).rename(folder / "model-00001-of-00002.safetensors")
    places = {name: f"model-0000{1 + (i % 2)}-of-00002.safetensors" for i, name in enumerate(names)}
    text(folder, "model.safetensors.index.json", json.dumps({"weight_map": places}))


def without(folder: Path, end: str) -> None:
    """Weights that lack the tensors whose names end, or begin, with this."""
    found = tensors.read(folder / tensors.FILE)
    kept = {name: each for name, each in found.items() if not name.endswith(end) and not name.startswith(end)}
    tensors.write(folder / tensors.FILE, kept)


def filled(folder: Path, name: str, value: float) -> None:
    """A tensor with one value everywhere: not a number, or zero."""
    found = tensors.read(folder / tensors.FILE)
    half, old = struct.pack("<f", value)[2:], found[name]
    new = tensors.Tensor(dtype=old.dtype, shape=old.shape, data=half * math.prod(old.shape))
    tensors.write(folder / tensors.FILE, found | {name: new})


def swapped_ids(folder: Path) -> None:
    """A tokenizer of the same size in which the words have each other's ids."""
    found = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    words = sorted(found["model"]["vocab"].items(), key=lambda each: each[1])
    ids = [i for _, i in words]
    found["model"]["vocab"] = dict(zip([word for word, _ in words], ids[:3] + ids[3:][::-1], strict=True))
    text(folder, "tokenizer.json", json.dumps(found, ensure_ascii=False))


def huge(folder: Path) -> None:
    """Weights that no memory of such a machine holds: a matrix more, of which the file has a hole."""
    path = folder / tensors.FILE
    whole = path.read_bytes()
    (length,) = struct.unpack_from("<Q", whole)
    entries, data = json.loads(whole[8 : 8 + length]), whole[8 + length :]
    size = 1 << 42
    offsets = [len(data), len(data) + size]
    entries["model.experts.weight"] = {"dtype": "BF16", "shape": [size // 8192, 4096], "data_offsets": offsets}
    said = json.dumps(entries).encode()
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(said)) + said + data)
        file.truncate(8 + len(said) + len(data) + size)


_OWN: Final = (gone, text, config, cut, header, pointer, missing_shard, without, filled, swapped_ids, huge)
_WAYS: Final = {each.__name__: each for each in _OWN} | {
    "permuted": faults.permute,
    "untrained": faults.mix,
    "corrupt": faults.corrupt,
    "short": faults.shorten,
}
_TABLE: Final = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))
ALL: Final = tuple(Fault(layer=Layer(layer), **each) for layer, rows in _TABLE.items() for each in rows)
