"""The folder of the pair, under a name that changes with the recipe, and how the pair gets there. In the same folder
are the heads and drafts of every method, trained in the runtime image if they are missing.
"""

import pathlib
import shutil
import time
from typing import Final

from hack import images
from hack.cluster import paths
from hack.cluster.errors import ClusterError
from hack.images import box, build, content, tool
from hack.models import built

PROOF = "proof.json"
_SOURCES = content.Sources(
    files=(
        *(f"hack/models/{name}.py" for name in ("corpus", "drift", "muon", "recipe", "train")),
        "hack/images/requirements/cpu.txt",
    )
)
_TRAINED: Final = content.Sources(files=("hack/models/fit.py",), folders=("hack/models/heads",))


def folder() -> pathlib.Path:
    """Return the folder that belongs to this recipe, whether or not it is there."""
    return paths.cache() / "models" / content.digest(_SOURCES)


def ensure() -> pathlib.Path:
    """Return the folder of the trained pair and its faulty drafts; what was trained before is completed."""
    target = folder()
    if not (target / "prompts.json").exists():
        _train(target)
    built.ensure(target)
    return target


def _train(target: pathlib.Path) -> None:
    """Train the pair; a training that was cut off leaves nothing behind."""
    started = time.monotonic()
    unfinished = target.with_suffix(".unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    run("the training of the tiny models", unfinished, "hack.models.train", str(unfinished))
    open_to_pods(unfinished)
    unfinished.rename(target)
    print(f"models trained: {time.monotonic() - started:.0f} s", flush=True)


def open_to_pods(folder: pathlib.Path) -> None:
    """Let all users read a folder: weights are written for their owner only, and pods run as another user."""
    for each in (folder, *folder.rglob("*")):
        each.chmod(0o755 if each.is_dir() else 0o644)


def image() -> str:
    """Return the runtime image, built where it is missing; it has everything that training needs."""
    ref = images.refs().runtime
    build.ensure(tool.choose(), build.product("runtime"), print)
    return ref


def run(what: str, folder: pathlib.Path, *module: str) -> None:
    """Run a module in the runtime image. Raises ClusterError where it fails."""
    if (code := box.run(module, folder, image())) != 0:
        raise ClusterError(f"{what} ended with code {code}; its words are above")


def ensure_all() -> pathlib.Path:
    """Return the folder of all tiny models; what was made before is kept as long as its recipe is the same."""
    models = ensure()
    heads, moved = models / "heads.digest", models / "built.digest"
    if _stale(heads, _TRAINED):
        _train_heads(models)
        moved.unlink(missing_ok=True)
        heads.write_text(content.digest(_TRAINED), encoding="utf-8")
    if _stale(moved, built.SOURCE):
        _build(models)
        moved.write_text(content.digest(built.SOURCE), encoding="utf-8")
    return models


def _stale(mark: pathlib.Path, sources: content.Sources) -> bool:
    return not mark.exists() or mark.read_text(encoding="utf-8") != content.digest(sources)


def _build(models: pathlib.Path) -> None:
    for name, (source, change) in built.BUILT.items():
        shutil.rmtree(models / name, ignore_errors=True)
        shutil.copytree(models / source, models / name)
        change(models / name)
        open_to_pods(models / name)


def _train_heads(models: pathlib.Path) -> None:
    started = time.monotonic()
    unfinished = models / ".heads"
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir()
    run("the training of the heads", models, "hack.models.heads.train", str(models), str(unfinished))
    for each in sorted(unfinished.iterdir()):
        shutil.rmtree(models / each.name, ignore_errors=True)
        open_to_pods(each)
        each.rename(models / each.name)
    unfinished.rmdir()
    print(f"heads trained: {time.monotonic() - started:.0f} s", flush=True)
