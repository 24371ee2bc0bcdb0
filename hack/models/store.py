"""The folder of the pair, under a name that changes with the recipe, and how the pair gets there."""

import pathlib
import shutil
import time

from hack import images
from hack.cluster import paths
from hack.cluster.errors import ClusterError
from hack.images import box, build, content, tool
from hack.models import faults

PROOF = "proof.json"
_SOURCES = content.Sources(
    files=(
        *(f"hack/models/{name}.py" for name in ("corpus", "drift", "muon", "recipe", "train")),
        "hack/images/requirements/cpu.txt",
    )
)


def folder() -> pathlib.Path:
    """Return the folder that belongs to this recipe, whether or not it is there."""
    return paths.cache() / "models" / content.digest(_SOURCES)


def ensure() -> pathlib.Path:
    """Return the folder of the trained pair and its faulty drafts; what was trained before is completed."""
    target = folder()
    if not (target / "prompts.json").exists():
        _train(target)
    faults.ensure(target)
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
