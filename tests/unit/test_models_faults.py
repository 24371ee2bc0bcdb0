"""hack.models.faults: drafts that are worth nothing and look right."""

import json
import pathlib
import struct

import pytest
from hack.models import faults

from specdec_runtime import checks, preflight
from specdec_runtime.flags import Flags

_VOCABULARY, _HIDDEN, _CONTEXT = 96, 16, 1024
_LAYER = 150_000
_TENSORS = {
    "lm_head.weight": (_VOCABULARY, _HIDDEN),
    "model.embed_tokens.weight": (_VOCABULARY, _HIDDEN),
    "model.layers.0.mlp.up_proj.weight": (_LAYER,),
}


@pytest.fixture
def models(tmp_path: pathlib.Path) -> pathlib.Path:
    """A target and a draft as training leaves them, in small: every row of a table says its token's number."""
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
        rows = [bytes([number]) * _HIDDEN * 2 for number in range(_VOCABULARY)]
        part = b"".join(rows) if len(shape) == 2 else bytes(_LAYER * 2)
        header[name] = {"dtype": "BF16", "shape": shape, "data_offsets": [len(data), len(data) + len(part)]}
        data += part
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def _rows(weights: bytes, table: faults.Table) -> list[bytes]:
    found, size = weights[table.begin : table.end], _HIDDEN * 2
    return [found[i * size : (i + 1) * size] for i in range(table.rows)]


def _read(models: pathlib.Path, draft: str) -> bytes:
    return (models / draft / "model.safetensors").read_bytes()


def test_permuted_tables_hold_the_same_rows_in_one_other_order(models: pathlib.Path) -> None:
    """Whole rows move, and both tables in the same way: the draft still speaks, in other ids."""
    faults.ensure(models)
    good, found = _read(models, "draft"), _read(models, "draft-permuted")
    head, embedding = (_rows(found, table) for table in faults.tables(good))
    before = _rows(good, faults.tables(good)[0])
    assert head == embedding
    assert sorted(head) == sorted(before)
    assert sum(one == other for one, other in zip(head, before, strict=True)) < _VOCABULARY / 10


def test_nothing_but_rows_of_tokens_moves(models: pathlib.Path) -> None:
    """A header or a layer that changed as well would be another fault."""
    faults.ensure(models)
    good, found = _read(models, "draft"), _read(models, "draft-permuted")
    first, last = faults.tables(good)[0].begin, faults.tables(good)[-1].end
    assert (found[:first], found[last:]) == (good[:first], good[last:])


def test_corrupt_weights_differ_in_so_many_bytes_of_the_data(models: pathlib.Path) -> None:
    """Every one of them, and none of the header: the file has its length and its names."""
    faults.ensure(models)
    good, found = _read(models, "draft"), _read(models, "draft-corrupt")
    changed = [at for at, (one, other) in enumerate(zip(good, found, strict=True)) if one != other]
    assert len(changed) == faults.FLIPPED_BYTES
    assert changed[0] >= faults.tables(good)[0].begin


@pytest.mark.parametrize(
    ("draft", "said"), [("draft-permuted", []), ("draft-corrupt", []), ("draft-short", ["DraftContextShort"])]
)
def test_the_preflight_lets_every_faulty_draft_pass(models: pathlib.Path, draft: str, said: list[str]) -> None:
    """That is what makes them silent; of the short context it warns, because some want such a draft."""
    faults.ensure(models)
    speculation = {"method": "draft_model", "model": str(models / draft)}
    found = preflight.inspect(
        Flags(
            model=str(models / "target"),
            speculation=speculation,
            port=8080,
            max_model_len=_CONTEXT,
            load_format="auto",
        )
    )
    assert [each.id for each in found] == said
    assert all(each.severity is checks.Severity.WARN for each in found)


def test_a_cache_of_before_is_completed_and_then_left_alone(models: pathlib.Path) -> None:
    """Pods may read these files: what is there already is not written again. Training's own files stay as they are."""
    good = _read(models, "draft")
    faults.ensure(models)
    (models / "draft-short" / "config.json").unlink()
    faults.ensure(models)
    assert not (models / "draft-short" / "config.json").exists()
    assert _read(models, "draft") == good
    assert {each.name for each in models.iterdir() if each.is_dir()} == {"target", "draft", *faults.FAULTS}


def test_drafts_of_another_recipe_are_made_anew(models: pathlib.Path) -> None:
    """A fault that is made in another way since replaces the one in the cache."""
    faults.ensure(models)
    (models / "faults.digest").write_text("of another day")
    (models / "draft-corrupt" / "model.safetensors").write_bytes(b"")
    faults.ensure(models)
    assert len(_read(models, "draft-corrupt")) == len(_read(models, "draft"))
