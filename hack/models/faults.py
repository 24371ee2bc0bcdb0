"""Drafts that are made of the trained one by moving bytes: they start and answer like it, and are worth nothing.

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
from typing import Final

from hack.images import content
from hack.models import tensors

BY_TOKEN: Final = ("lm_head.weight", "model.embed_tokens.weight")
"""The tensors with a row for each token."""
SHORT_CONTEXT: Final = 256
"""Positions that `draft-short` was made for, in tokens."""
FLIPPED_BYTES: Final = 200_000
_MARK: Final = "faults.digest"
_SOURCE: Final = content.Sources(files=("hack/models/faults.py", "hack/models/tensors.py"))


def ensure(models: Path) -> None:
    """Put every faulty draft beside the good one, where this recipe's are not there yet."""
    mark, wanted = models / _MARK, content.digest(_SOURCE)
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
    order = list(range(found[BY_TOKEN[0]].shape[0]))
    random.Random("permuted").shuffle(order)  # noqa: S311 (an order, not a secret)
    tensors.write(draft / tensors.FILE, found | {name: found[name].reordered(order) for name in BY_TOKEN})


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
