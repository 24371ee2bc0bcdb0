"""Writes model folders as Hugging Face lays them out: headers by hand, a few bytes of weights, no real model."""

import json
import struct
from pathlib import Path
from typing import Any

VOCABULARY = {"a": 0, "b": 1, "c": 2, "d": 3}
HIDDEN = 2


def safetensors(shape: tuple[int, ...] = (len(VOCABULARY), HIDDEN), name: str = "model.embed_tokens.weight") -> bytes:
    """One bfloat16 tensor of zeros as a whole safetensors file."""
    size = 2
    for length in shape:
        size *= length
    header = {
        name: {"dtype": "BF16", "shape": list(shape), "data_offsets": [0, size]},
        "__metadata__": {"format": "pt"},
    }
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + bytes(size)


def write(
    folder: Path,
    *,
    config: dict[str, Any] | None = None,
    vocabulary: dict[str, int] | list[list[Any]] | None = None,
    added: list[dict[str, Any]] | None = None,
    weights: bytes | None = None,
) -> Path:
    """A folder in which nothing is wrong unless the caller says so."""
    folder.mkdir(parents=True)
    settings = {"vocab_size": len(VOCABULARY), "hidden_size": HIDDEN, "max_position_embeddings": 1024}
    (folder / "config.json").write_text(json.dumps(settings | (config or {})))
    tokenizer = {"model": {"vocab": vocabulary or VOCABULARY}, "added_tokens": added or []}
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    (folder / "model.safetensors").write_bytes(safetensors() if weights is None else weights)
    return folder
