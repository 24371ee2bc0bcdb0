"""Pairs of models for the preflight, each with one fault or none: what is served, with which flags, and where."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.unit.runtime import models

from specdec_runtime import flags
from specdec_runtime.preflight.surroundings import Surroundings

LAPTOP = Surroundings()
"""No engine: nothing of its version, packages or memory is known."""
Build = Callable[[Path], flags.Flags]
Change = Callable[[Path], object]


@dataclass(frozen=True, kw_only=True, slots=True)
class Fault:
    what: str
    id: str
    words: str
    build: Build
    around: Surroundings = LAPTOP


def read(target: Path, draft: Path | None, *more: str, **speculation: object) -> flags.Flags:
    """The flags that the operator would render; without a draft or a method, those of a plain server."""
    words = [f"--model={target}", *more]
    if draft is not None or speculation:
        config = {"method": "draft_model", "num_speculative_tokens": 4} | speculation
        words.append("--speculative-config=" + json.dumps(config | ({"model": str(draft)} if draft else {})))
    return flags.read(words)


def pair(change: Change | None = None, *more: str, method: str = "draft_model", **speculation: object) -> Build:
    """Two Llamas, of which the draft (or, with method ngram, the target) is changed."""

    def build(folder: Path) -> flags.Flags:
        target, draft = models.llama(folder / "t"), models.llama(folder / "d", num_hidden_layers=1)
        own = method in {"ngram", "suffix", "mtp"}
        if change is not None:
            change(target if own else draft)
        return read(target, None if own else draft, *more, method=method, **speculation)

    return build


def on_target(change: Change, *more: str) -> Build:
    def build(folder: Path) -> flags.Flags:
        target = models.llama(folder / "t")
        change(target)
        return read(target, None, *more)

    return build


def head(
    method: str, config: models.Json, shapes: models.Shapes, *more: str, depth: int = 8, **speculation: object
) -> Build:
    """A Llama of so many layers and a head for it."""

    def build(folder: Path) -> flags.Flags:
        target = models.llama(folder / "t", num_hidden_layers=depth)
        return read(target, models.head(folder / "d", config, shapes), *more, method=method, **speculation)

    return build


def mtp(config: models.Json, shapes: models.Shapes | None = None, **speculation: object) -> Build:
    def build(folder: Path) -> flags.Flags:
        tensors = models.decoder(models.LLAMA) | (shapes or {})
        target = models.write(folder / "t", config=config, vocabulary=models.WORDS, weights=models.stored(tensors))
        return read(target, None, **({"method": "mtp"} | speculation))

    return build


def config(**changes: object) -> Change:
    """Other values in config.json; the weights stay."""

    def change(folder: Path) -> None:
        path = folder / "config.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | changes))

    return change


def text(name: str, content: str) -> Change:
    return lambda folder: (folder / name).write_text(content)


def gone(name: str) -> Change:
    return lambda folder: (folder / name).unlink()


def tensors(**changes: Any) -> Change:
    """Other shapes of tensors (`__` for a dot), or None for one that is missing; the config stays."""

    def change(folder: Path) -> None:
        shapes: dict[str, Any] = models.decoder(json.loads((folder / "config.json").read_text()))
        shapes |= {name.replace("__", "."): shape for name, shape in changes.items()}
        kept = {name: shape for name, shape in shapes.items() if shape is not None}
        (folder / "model.safetensors").write_bytes(models.stored(kept))

    return change


def data(spoil: Callable[[bytes], bytes]) -> Change:
    """Other bytes of the tensors; the header stays."""

    def change(folder: Path) -> None:
        path = folder / "model.safetensors"
        raw = path.read_bytes()
        base = 8 + int.from_bytes(raw[:8], "little")
        path.write_bytes(raw[:base] + spoil(raw[base:]))

    return change


def header(spoil: Callable[[dict[str, Any]], object]) -> Change:
    """Another header of the weights; the bytes stay."""

    def change(folder: Path) -> None:
        path = folder / "model.safetensors"
        raw = path.read_bytes()
        base = 8 + int.from_bytes(raw[:8], "little")
        entries = json.loads(raw[8:base])
        spoil(entries)
        written = json.dumps(entries).encode()
        path.write_bytes(len(written).to_bytes(8, "little") + written + raw[base:])

    return change
