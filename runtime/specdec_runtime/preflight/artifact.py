"""Gathers the facts of one model folder. It reads; the checks judge."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from specdec_engine.config_json import Config
from specdec_runtime.preflight import values, vocabulary, weights

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_TOKENIZER_FILES: Final = ("tokenizer.json", "vocab.json", *vocabulary.SEALED)
_OTHER_WEIGHTS: Final = ("*.bin", "*.pt", "*.pth", "*.gguf")
_NOT_READ: Final = (OSError, ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError)


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelFolder:
    """What lies in one model folder. A `trouble` is the sentence of why something could not be read."""

    role: str
    field: str
    path: Path
    exists: bool = False
    readable: bool = False
    config: Config | None = None
    config_trouble: str | None = None
    generation: Config | None = None
    tokenizer_files: tuple[str, ...] = ()
    tokens: Mapping[int, str] | None = None
    sealed: frozenset[tuple[str, str]] = frozenset()
    """Name and fingerprint of each vocabulary file that is compared as a whole."""
    tokenizer_trouble: str | None = None
    tensors: Mapping[str, weights.TensorEntry] | None = None
    stretches: tuple[values.TensorSample, ...] = ()
    other_weights: bool = False
    weights_trouble: str | None = None

    @property
    def settings(self) -> Config:
        """The config, or an empty one if it is missing: checks of values then find nothing."""
        return self.config or Config(document={})

    def number(self, key: str) -> int | None:
        """Return a whole number of config.json, wherever the language model's config is nested."""
        return self.settings.number(key)

    def tensor(self, ending: str) -> weights.TensorEntry | None:
        """Return the tensor whose name is an ending or ends with a dot and it."""
        return next((t for name, t in (self.tensors or {}).items() if f".{name}".endswith(f".{ending}")), None)


def gather(role: str, field: str, path: Path) -> ModelFolder:
    """Read everything that the checks want to know about one folder."""
    if not os.path.isdir(path):  # pathlib's raises for a name that is too long, or a parent that may not be entered
        return ModelFolder(role=role, field=field, path=path, exists=os.path.exists(path) or _closed(path))
    if not os.access(path, os.R_OK | os.X_OK):
        return ModelFolder(role=role, field=field, path=path, exists=True)
    config, config_trouble = _document(path / "config.json")
    tokens, sealed, tokenizer_trouble = _tokens(path)
    tensors, stretches, weights_trouble = _tensors(path)
    return ModelFolder(
        role=role,
        field=field,
        path=path,
        exists=True,
        readable=True,
        config=config,
        config_trouble=config_trouble,
        generation=_document(path / "generation_config.json")[0],
        tokenizer_files=tuple(name for name in _TOKENIZER_FILES if (path / name).is_file()),
        tokens=tokens,
        sealed=sealed,
        tokenizer_trouble=tokenizer_trouble,
        tensors=tensors,
        stretches=stretches,
        other_weights=any(True for pattern in _OTHER_WEIGHTS for _ in path.glob(pattern)),
        weights_trouble=weights_trouble,
    )


def _closed(path: Path) -> bool:
    """Whether it is unknown if the path exists, because this user may not enter a folder above it."""
    try:
        path.stat()
    except OSError as error:
        return isinstance(error, PermissionError)
    return False


def _document(path: Path) -> tuple[Config | None, str | None]:
    try:
        raw = path.read_bytes()
        document = json.loads(raw.decode("utf-8"))
    except FileNotFoundError:
        return None, f"{path} does not exist"
    except (OSError, ValueError, RecursionError) as error:
        why = "is a Git LFS pointer, not the file" if _pointer(path) else f"cannot be read as JSON ({error})"
        return None, f"{path} {why}"
    if not isinstance(document, dict):
        return None, f"{path} has a JSON {type(document).__name__}, not an object"
    return Config(document=document), None


def _pointer(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return weights.is_pointer(file.read(64))
    except OSError:
        return False


def _tokens(folder: Path) -> tuple[Mapping[int, str] | None, frozenset[tuple[str, str]], str | None]:
    try:
        return vocabulary.read(folder), vocabulary.digests(folder), None
    except _NOT_READ as error:
        name = next((each for each in ("tokenizer.json", "vocab.json") if (folder / each).is_file()), "tokenizer.model")
        why = "is a pointer of Git LFS" if _pointer(folder / name) else f"cannot be read as a tokenizer ({error!r})"
        return None, frozenset(), f"{folder / name} {why}"


def _tensors(
    folder: Path,
) -> tuple[Mapping[str, weights.TensorEntry] | None, tuple[values.TensorSample, ...], str | None]:
    try:
        tensors = weights.read_all(folder)
        return tensors or None, values.look(tensors), None
    except weights.BrokenFileError as error:
        return None, (), str(error)
    except OSError as error:
        return None, (), f"the weights cannot be read ({error})"
