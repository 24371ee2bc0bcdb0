"""Drafts that are made of trained ones by moving bytes: another vocabulary with the same words, and P-EAGLE."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any, Final

from hack.models import tensors

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

_SPECIAL: Final = 3
"""The first ids are the beginning, the end and the padding: they stay."""
_PLACEHOLDER: Final = 2
_BY_TOKEN: Final = ("lm_head.weight", "model.embed_tokens.weight")


def renumber(draft: Path) -> None:
    """Give every token another id, in the tokenizer and the weights alike: the same draft in other numbers."""
    path = draft / "tokenizer.json"
    tokenizer = json.loads(path.read_text(encoding="utf-8"))
    vocabulary = tokenizer["model"]["vocab"]
    order = list(range(_SPECIAL, len(vocabulary)))
    random.Random("renumbered").shuffle(order)  # noqa: S311 (an order, not a secret)
    order = [*range(_SPECIAL), *order]
    new = {old: place for place, old in enumerate(order)}
    tokenizer["model"]["vocab"] = {word: new[old] for word, old in vocabulary.items()}
    path.write_text(json.dumps(tokenizer, ensure_ascii=False), encoding="utf-8")
    found = tensors.read(draft / tensors.FILE)
    changed = {name: found[name].reordered(order) for name in _BY_TOKEN}
    tensors.write(draft / tensors.FILE, found | changed)


def parallel(head: Path) -> None:
    """Let an EAGLE-3 head guess all tokens at once, from an empty state: what P-EAGLE does, without its training."""
    settings: dict[str, Any] = json.loads((head / "config.json").read_text(encoding="utf-8"))
    settings["ptd_token_id"] = _PLACEHOLDER
    (head / "config.json").write_text(json.dumps(settings, indent=2) + "\n", encoding="utf-8")
    found = tensors.read(head / tensors.FILE)
    width = found["fc.weight"].shape[1]
    empty = tensors.Tensor(dtype="BF16", shape=(1, 1, width), data=bytes(2 * width))
    tensors.write(head / tensors.FILE, found | {"mask_hidden": empty})


def mlp(head: Path) -> None:
    """Say that a head is an MLP speculator, which vLLM has a method for and no model."""
    settings = json.loads((head / "config.json").read_text(encoding="utf-8"))
    said = {"architectures": ["MLPSpeculatorPreTrainedModel"], "model_type": "mlp_speculator", "n_predict": 3}
    (head / "config.json").write_text(json.dumps(settings | said, indent=2) + "\n", encoding="utf-8")


BUILT: Final[Mapping[str, tuple[str, Callable[[Path], None]]]] = {
    "draft-hetero": ("draft", renumber),
    "head-peagle": ("head-eagle3", parallel),
    "head-mlp": ("head-medusa", mlp),
}
"""The folders, what each is made of, and how."""
