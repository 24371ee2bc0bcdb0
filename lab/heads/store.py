"""The folder of all tiny models: the pair of hack.models, and next to it the heads and drafts of every method. They are
trained in the runtime image if they are missing.
"""

import json
import pathlib
import random
import shutil
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from hack.images import content
from hack.models import store, tensors
from hack.models.faults import BY_TOKEN

_TRAINED: Final = content.Sources(
    files=(
        "hack/models/fit.py",
        *(f"lab/heads/{name}.py" for name in ("eagle", "layers", "lesson", "parallel", "train")),
    )
)
_BUILT: Final = content.Sources(files=("lab/heads/store.py", "hack/models/tensors.py"))
_SPECIAL: Final = 3
"""The first ids are the beginning, the end and the padding: they stay."""
_PLACEHOLDER: Final = 2


def ensure() -> pathlib.Path:
    """Return the folder of all tiny models; what was made before is kept as long as its recipe is the same."""
    models = store.ensure()
    heads, moved = models / "heads.digest", models / "built.digest"
    if _stale(heads, _TRAINED):
        _train(models)
        moved.unlink(missing_ok=True)
        heads.write_text(content.digest(_TRAINED), encoding="utf-8")
    if _stale(moved, _BUILT):
        _build(models)
        moved.write_text(content.digest(_BUILT), encoding="utf-8")
    return models


def _stale(mark: pathlib.Path, sources: content.Sources) -> bool:
    return not mark.exists() or mark.read_text(encoding="utf-8") != content.digest(sources)


def _train(models: pathlib.Path) -> None:
    started = time.monotonic()
    unfinished = models / ".heads"
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir()
    store.run("the training of the heads", models, "lab.heads.train", str(models), str(unfinished))
    for each in sorted(unfinished.iterdir()):
        shutil.rmtree(models / each.name, ignore_errors=True)
        store.open_to_pods(each)
        each.rename(models / each.name)
    unfinished.rmdir()
    print(f"heads trained: {time.monotonic() - started:.0f} s", flush=True)


def _build(models: pathlib.Path) -> None:
    for name, (source, change) in BUILT.items():
        shutil.rmtree(models / name, ignore_errors=True)
        shutil.copytree(models / source, models / name)
        change(models / name)
        store.open_to_pods(models / name)


def renumber(draft: pathlib.Path) -> None:
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
    changed = {name: found[name].reordered(order) for name in BY_TOKEN}
    tensors.write(draft / tensors.FILE, found | changed)


def parallel(head: pathlib.Path) -> None:
    """Let an EAGLE-3 head guess all tokens at once, from an empty state: what P-EAGLE does, without its training."""
    settings: dict[str, Any] = json.loads((head / "config.json").read_text(encoding="utf-8"))
    settings["ptd_token_id"] = _PLACEHOLDER
    (head / "config.json").write_text(json.dumps(settings, indent=2) + "\n", encoding="utf-8")
    found = tensors.read(head / tensors.FILE)
    width = found["fc.weight"].shape[1]
    empty = tensors.Tensor(dtype="BF16", shape=(1, 1, width), data=bytes(2 * width))
    tensors.write(head / tensors.FILE, found | {"mask_hidden": empty})


def mlp(head: pathlib.Path) -> None:
    """Declare a head an MLP speculator. vLLM has a method for it, and no model."""
    settings = json.loads((head / "config.json").read_text(encoding="utf-8"))
    said = {"architectures": ["MLPSpeculatorPreTrainedModel"], "model_type": "mlp_speculator", "n_predict": 3}
    (head / "config.json").write_text(json.dumps(settings | said, indent=2) + "\n", encoding="utf-8")


BUILT: Final[Mapping[str, tuple[str, Callable[[pathlib.Path], None]]]] = {
    "draft-hetero": ("draft", renumber),
    "head-peagle": ("head-eagle3", parallel),
    "head-mlp": ("head-medusa", mlp),
}
"""The folders that need no training, what each is made of, and how."""
