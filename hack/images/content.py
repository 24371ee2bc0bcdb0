"""Names an image by the files that it is made of, so that an unchanged tree never builds twice."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True, kw_only=True, slots=True)
class Sources:
    """What goes into one image: single files, and folders with all their files."""

    files: tuple[str, ...]
    folders: tuple[str, ...] = ()


OPERATOR = Sources(
    files=("Dockerfile.operator", "hack/images/requirements/operator.txt"),
    folders=("operator/specdec_operator",),
)
RUNTIME = Sources(
    files=("Dockerfile.runtime", "pyproject.toml", "hack/images/requirements/cpu.txt"),
    folders=("runtime/specdec_runtime", "hack/images/cpu"),
)
# What the engine layer is made of: the part of the runtime image that takes minutes.
ENGINE = Sources(
    files=("hack/images/requirements/cpu.txt", "hack/images/cpu/cuda_stubs.py", "hack/images/cpu/inspect_models.py")
)


def paths(sources: Sources, root: Path = ROOT) -> list[Path]:
    """Return the files in a fixed order, without what Python leaves behind."""
    found = {root / name for name in sources.files}
    for folder in sources.folders:
        found |= {
            path
            for path in (root / folder).rglob("*")
            if path.is_file() and "__pycache__" not in path.parts and path.suffix != ".pyc"
        }
    return sorted(found)


def digest(sources: Sources, root: Path = ROOT) -> str:
    """Return twelve digits that change with any name or byte."""
    state = hashlib.sha256()
    for path in paths(sources, root):
        text = path.read_bytes()
        state.update(f"{path.relative_to(root).as_posix()}\0{len(text)}\0".encode())
        state.update(text)
    return state.hexdigest()[:12]
