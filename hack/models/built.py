"""Drafts that are made of trained ones by moving bytes: another vocabulary with the same words, P-EAGLE, and drafts
that start and answer like good ones and are worth nothing.

Each fault leaves /health green. Only the flipped bytes can be seen in the file: names, sizes and headers are those of a
good draft, or, for the short context, those of a draft that a user may want.
"""

import json
import os
import random
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from hack.images import content
from hack.models import tensors

_SPECIAL: Final = 3
"""The first ids are the beginning, the end and the padding: they stay."""
_PLACEHOLDER: Final = 2
_BY_TOKEN: Final = ("lm_head.weight", "model.embed_tokens.weight")
SHORT_CONTEXT: Final = 256
"""Positions that `draft-short` was made for, in tokens."""
FLIPPED_BYTES: Final = 200_000
_MARK: Final = "faults.digest"
SOURCE: Final = content.Sources(files=("hack/models/built.py", "hack/models/tensors.py"))


def renumber(draft: Path) -> None:
    """Give every token another id, in both the tokenizer and the weights: the same draft in other numbers."""
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
    """Declare a head an MLP speculator. vLLM has a method for it, and no model."""
    settings = json.loads((head / "config.json").read_text(encoding="utf-8"))
    said = {"architectures": ["MLPSpeculatorPreTrainedModel"], "model_type": "mlp_speculator", "n_predict": 3}
    (head / "config.json").write_text(json.dumps(settings | said, indent=2) + "\n", encoding="utf-8")


BUILT: Final[Mapping[str, tuple[str, Callable[[Path], None]]]] = {
    "draft-hetero": ("draft", renumber),
    "head-peagle": ("head-eagle3", parallel),
    "head-mlp": ("head-medusa", mlp),
}
"""The folders, what each is made of, and how."""


def ensure(models: Path) -> None:
    """Put every faulty draft beside the good one, where this recipe's are not there yet."""
    mark, wanted = models / _MARK, content.digest(SOURCE)
    if mark.exists() and mark.read_text(encoding="utf-8") == wanted:
        return
    for name, spoil in FAULTS.items():
        unfinished = models / f".{name}-{os.getpid()}"
        shutil.copytree(models / "draft", unfinished)
        spoil(unfinished)
        shutil.rmtree(models / name, ignore_errors=True)
        unfinished.rename(models / name)
    mark.write_text(wanted, encoding="utf-8")


def permute(draft: Path) -> None:
    """Give every token the rows of another one, as if the draft had learnt with other ids: the tokenizer looks right.

    The draft stays whole and proposes what it did before, in a language that the target does not know.
    """
    found = tensors.read(draft / tensors.FILE)
    order = list(range(found[_BY_TOKEN[0]].shape[0]))
    random.Random("permuted").shuffle(order)  # noqa: S311 (an order, not a secret)
    tensors.write(draft / tensors.FILE, found | {name: found[name].reordered(order) for name in _BY_TOKEN})


def mix(folder: Path) -> None:
    """Move the rows of every matrix by half of them, as if the weights were of another model of this form.

    By half, because neighbours are similar: the ids of frequent tokens are next to each other.
    """
    found = tensors.read(folder / tensors.FILE)
    mixed = {name: each.reordered(_by_half(each.shape[0])) for name, each in found.items() if len(each.shape) == 2}
    tensors.write(folder / tensors.FILE, found | mixed)


def _by_half(rows: int) -> list[int]:
    return [*range(rows // 2, rows), *range(rows // 2)]


def corrupt(draft: Path) -> None:
    """Flip every bit of the last bytes, as a broken disk or copy leaves them: a layer's end and the last norm."""
    weights = draft / tensors.FILE
    found = weights.read_bytes()
    flipped = bytes(each ^ 0xFF for each in found[-FLIPPED_BYTES:])
    weights.write_bytes(found[:-FLIPPED_BYTES] + flipped)


def shorten(draft: Path) -> None:
    """Declare that the draft was made for fewer positions than the target is served with."""
    path = draft / "config.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(config | {"max_position_embeddings": SHORT_CONTEXT}, indent=2) + "\n", encoding="utf-8")


FAULTS: Final[Mapping[str, Callable[[Path], None]]] = MappingProxyType(
    {"draft-permuted": permute, "draft-mixed": mix, "draft-corrupt": corrupt, "draft-short": shorten}
)
"""The folders, and what is done to a copy of the good draft."""
