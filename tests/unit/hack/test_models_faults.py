"""hack.models.faults: drafts that are worth nothing and look right."""

import json
import pathlib
import struct

import pytest
from hack.models import faults

from specdec_engine.rule import Severity
from specdec_runtime import preflight
from specdec_runtime.flags import Flags

_VOCABULARY, _HIDDEN, _CONTEXT = 96, 16, 1024
_LAYER = 150_000
_TENSORS = {
    "lm_head.weight": (_VOCABULARY, _HIDDEN),
    "model.embed_tokens.weight": (_VOCABULARY, _HIDDEN),
    "model.layers.0.mlp.up_proj.weight": (300, 500),
}


@pytest.fixture
def models(tmp_path: pathlib.Path) -> pathlib.Path:
    """A target and a draft as training leaves them, but small: every row of a table holds its token's number."""
    for name in ("target", "draft"):
        folder = tmp_path / name
        folder.mkdir()
        config = {"vocab_size": _VOCABULARY, "hidden_size": _HIDDEN, "max_position_embeddings": _CONTEXT}
        (folder / "config.json").write_text(json.dumps(config))
        tokens = {f"t{number}": number for number in range(_VOCABULARY)}
        (folder / "tokenizer.json").write_text(json.dumps({"model": {"vocab": tokens}}))
        (folder / "model.safetensors").write_bytes(_weights())
    return tmp_path


def _weights() -> bytes:
    header, data = {}, b""
    for name, shape in _TENSORS.items():
        rows = [bytes([number, 0x3C]) * _HIDDEN for number in range(_VOCABULARY)]
        part = b"".join(rows) if shape[1] == _HIDDEN else b"\x01\x3c" * _LAYER
        header[name] = {"dtype": "BF16", "shape": shape, "data_offsets": [len(data), len(data) + len(part)]}
        data += part
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def _read(models: pathlib.Path, draft: str) -> bytes:
    return (models / draft / "model.safetensors").read_bytes()


@pytest.mark.parametrize(
    ("draft", "said"),
    [
        ("draft-permuted", {}),
        ("draft-mixed", {}),
        ("draft-corrupt", {"DraftWeightsUnsound": Severity.REFUSED}),
        ("draft-short", {"DraftContextShort": Severity.WARNED}),
    ],
)
def test_the_preflight_sees_only_what_can_be_seen(models: pathlib.Path, draft: str, said: dict[str, Severity]) -> None:
    """Flipped bytes are not numbers of a model. Of the short context it warns: some users want it. The rest pass."""
    faults.ensure(models)
    speculation = {"method": "draft_model", "model": str(models / draft)}
    args = {"model": str(models / "target"), "max_model_len": _CONTEXT}
    found = preflight.inspect(Flags(args=args, speculation=speculation))
    assert {each.rule.id: each.rule.severity for each in found} == said


def test_a_cache_of_before_is_completed_and_then_left_alone(models: pathlib.Path) -> None:
    """Pods may read these files: an existing file is not written again. Training's own files stay as they are."""
    good = _read(models, "draft")
    faults.ensure(models)
    (models / "draft-short" / "config.json").unlink()
    faults.ensure(models)
    assert not (models / "draft-short" / "config.json").exists()
    assert _read(models, "draft") == good
    assert {each.name for each in models.iterdir() if each.is_dir()} == {"target", "draft", *faults.FAULTS}


def test_drafts_of_another_recipe_are_made_again(models: pathlib.Path) -> None:
    """A fault that is made in another way since replaces the one in the cache."""
    faults.ensure(models)
    (models / "faults.digest").write_text("of another day")
    (models / "draft-corrupt" / "model.safetensors").write_bytes(b"")
    faults.ensure(models)
    assert len(_read(models, "draft-corrupt")) == len(_read(models, "draft"))
