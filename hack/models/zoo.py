"""The heads and drafts of every method, beside the tiny pair: trained where they are missing, in the runtime image."""

from __future__ import annotations

import shutil
import time
from typing import TYPE_CHECKING, Final

from hack.cluster.errors import ClusterError
from hack.images import box, content
from hack.models import store
from hack.models.built import BUILT

if TYPE_CHECKING:
    from pathlib import Path

_TRAINED: Final = content.Sources(files=("hack/models/fit.py",), folders=("hack/models/heads",))
_BUILT: Final = content.Sources(files=("hack/models/built.py", "hack/models/tensors.py"))


def ensure() -> Path:
    """Return the folder of all tiny models; what was made before is kept as long as its recipe is the same."""
    models = store.ensure()
    heads, built = models / "heads.digest", models / "built.digest"
    if _stale(heads, _TRAINED):
        _train(models)
        built.unlink(missing_ok=True)
        heads.write_text(content.digest(_TRAINED), encoding="utf-8")
    if _stale(built, _BUILT):
        _build(models)
        built.write_text(content.digest(_BUILT), encoding="utf-8")
    return models


def _stale(mark: Path, sources: content.Sources) -> bool:
    return not mark.exists() or mark.read_text(encoding="utf-8") != content.digest(sources)


def _build(models: Path) -> None:
    for name, (source, change) in BUILT.items():
        shutil.rmtree(models / name, ignore_errors=True)
        shutil.copytree(models / source, models / name)
        change(models / name)
        store.open_to_pods(models / name)


def _train(models: Path) -> None:
    started = time.monotonic()
    unfinished = models / ".heads"
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir()
    code = box.run(("hack.models.heads.train", str(models), str(unfinished)), models, store.image())
    if code != 0:
        raise ClusterError(f"the training of the heads ended with code {code}; its words are above")
    for each in sorted(unfinished.iterdir()):
        shutil.rmtree(models / each.name, ignore_errors=True)
        store.open_to_pods(each)
        each.rename(models / each.name)
    unfinished.rmdir()
    print(f"heads trained: {time.monotonic() - started:.0f} s", flush=True)
