"""Gathers the facts of one model folder. It reads; checks.py judges."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from specdec_runtime import vocabulary, weights

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_TOKENIZER_FILES = (
    "tokenizer.json",
    "tokenizer.model",
    "tekken.json",
    "vocab.json",
    "tiktoken.model",
    "spiece.model",
)
_OTHER_WEIGHTS = ("*.bin", "*.pt", "*.pth", "*.gguf")


@dataclass(frozen=True, kw_only=True, slots=True)
class Artifact:
    """What lies in one model folder. A `trouble` is the sentence of why something could not be read."""

    role: str
    field: str
    path: Path
    exists: bool = False
    readable: bool = False
    config: Mapping[str, object] | None = None
    config_trouble: str | None = None
    tokenizer_files: tuple[str, ...] = ()
    tokens: Mapping[int, str] | None = None
    tokenizer_trouble: str | None = None
    tensors: Mapping[str, weights.Tensor] | None = None
    other_weights: bool = False
    weights_trouble: str | None = None

    def number(self, key: str) -> int | None:
        """Return a whole number of config.json, also where a multimodal model nests it in text_config."""
        config = self.config or {}
        nested = config.get("text_config")
        for place in (config, nested if isinstance(nested, dict) else {}):
            value = place.get(key)
            if isinstance(value, int) and not isinstance(value, bool):
                return value
        return None


def gather(role: str, field: str, path: Path) -> Artifact:
    """Read everything that the checks want to know about one folder."""
    if not path.is_dir():
        return Artifact(role=role, field=field, path=path, exists=path.exists())
    if not os.access(path, os.R_OK | os.X_OK):
        return Artifact(role=role, field=field, path=path, exists=True)
    config, config_trouble = _config(path)
    tokens, tokenizer_trouble = _tokens(path)
    tensors, weights_trouble = _tensors(path)
    return Artifact(
        role=role,
        field=field,
        path=path,
        exists=True,
        readable=True,
        config=config,
        config_trouble=config_trouble,
        tokenizer_files=tuple(name for name in _TOKENIZER_FILES if (path / name).is_file()),
        tokens=tokens,
        tokenizer_trouble=tokenizer_trouble,
        tensors=tensors,
        other_weights=any(True for pattern in _OTHER_WEIGHTS for _ in path.glob(pattern)),
        weights_trouble=weights_trouble,
    )


def _config(folder: Path) -> tuple[Mapping[str, object] | None, str | None]:
    path = folder / "config.json"
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None, f"{path} is not there"
    except (OSError, ValueError) as error:
        return None, f"{path} cannot be read as JSON ({error})"
    if not isinstance(document, dict):
        return None, f"{path} holds a JSON {type(document).__name__}, not an object"
    return document, None


def _tokens(folder: Path) -> tuple[Mapping[int, str] | None, str | None]:
    try:
        return vocabulary.read(folder), None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        return None, f"{folder / 'tokenizer.json'} cannot be read as a tokenizer ({error!r})"


def _tensors(folder: Path) -> tuple[Mapping[str, weights.Tensor] | None, str | None]:
    try:
        found = {
            name: tensor for shard in weights.shards(folder) for name, tensor in weights.read_header(shard).items()
        }
    except weights.BrokenFileError as error:
        return None, str(error)
    except OSError as error:
        return None, f"the weights cannot be read ({error})"
    return found or None, None
