"""The wide draft: as large as it was asked to be, and what was added takes itself away again."""

import json
import pathlib
import struct

from hack.models import tensors
from tests.node import wide

NARROW, MIDDLE, LAYERS = 4, 6, 2
SHAPES = {"gate_proj": (MIDDLE, NARROW), "up_proj": (MIDDLE, NARROW), "down_proj": (NARROW, MIDDLE)}


def model(folder: pathlib.Path) -> None:
    folder.mkdir()
    sizes = {"hidden_size": NARROW, "intermediate_size": MIDDLE, "num_hidden_layers": LAYERS}
    (folder / "config.json").write_text(json.dumps(sizes))
    made = {"model.norm.weight": tensors.Tensor(dtype="BF16", shape=(NARROW,), data=b"\1\x3f" * NARROW)}
    for layer in range(LAYERS):
        for name, shape in SHAPES.items():
            data = b"".join(bytes((at, 0x3F)) for at in range(shape[0] * shape[1]))
            made[f"model.layers.{layer}.mlp.{name}.weight"] = tensors.Tensor(dtype="BF16", shape=shape, data=data)
    tensors.write(folder / tensors.FILE, made)


def numbers(row: bytes) -> list[float]:
    """A row of bfloat16."""
    return [struct.unpack("<f", b"\0\0" + row[at : at + 2])[0] for at in range(0, len(row), 2)]


def test_a_wide_draft_is_as_large_as_asked_and_answers_as_before(tmp_path: pathlib.Path) -> None:
    """Each old number is where it was; the sum over the wide side is that of the old ones."""
    model(tmp_path / "draft")
    name = wide.ensure(tmp_path, 1)
    assert wide.ensure(tmp_path, 1) == name
    width = json.loads((tmp_path / name / "config.json").read_text())["intermediate_size"]
    assert 0.99 * 1024**2 <= (tmp_path / name / tensors.FILE).stat().st_size <= 1.01 * 1024**2
    before, made = tensors.read(tmp_path / "draft" / tensors.FILE), tensors.read(tmp_path / name / tensors.FILE)
    assert made["model.norm.weight"] == before["model.norm.weight"]
    for layer in range(LAYERS):
        word = f"model.layers.{layer}.mlp.{{}}.weight"
        up = made[word.format("up_proj")]
        assert (up.shape, up.data) == ((width, NARROW), before[word.format("up_proj")].data * (width // MIDDLE))
        down = made[word.format("down_proj")]
        assert down.shape == (NARROW, width)
        for old, new in zip(before[word.format("down_proj")].rows(), down.rows(), strict=True):
            assert numbers(new)[:MIDDLE] == numbers(old)
            assert sum(numbers(new)[MIDDLE:]) == 0
            assert 0 not in numbers(new)
