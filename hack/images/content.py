"""Names an image by the files that it is made of, so that an unchanged tree never builds twice."""

import hashlib
import json
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hack.kserve.versions import SUMS

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True, kw_only=True, slots=True)
class Sources:
    """What goes into one image: single files, and folders with all their files."""

    files: tuple[str, ...]
    folders: tuple[str, ...] = ()


_REQUIREMENTS = "hack/images/requirements"
_SBOM = ("hack/images/sbom.sh", f"{_REQUIREMENTS}/sbom.txt", f"{_REQUIREMENTS}/uv.txt")
OPERATOR = Sources(
    files=("Dockerfile.operator", f"{_REQUIREMENTS}/operator.txt", "hack/images/engine/dist_info.py", *_SBOM),
    folders=("runtime/specdec_engine", "runtime/specdec_runtime", "runtime/injected", "operator/specdec_operator"),
)
_ENGINE = ("runtime/specdec_engine", "runtime/specdec_runtime", "hack/images/engine")


def _runtime(target: str, scripts: str) -> Sources:
    """What a target of the runtime image is made of. scripts: the folder of what else runs in its build."""
    files = ("Dockerfile.runtime", f"{_REQUIREMENTS}/{target}.txt", f"{_REQUIREMENTS}/build.txt", *_SBOM)
    return Sources(files=files, folders=(*_ENGINE, f"hack/images/{scripts}"))


RUNTIME = _runtime("cpu", "cpu")
ACCELERATED = {"nvidia": _runtime("nvidia", "nvidia"), "ascend": _runtime("ascend", "cpu")}
"""The targets that no test here builds."""
_STORAGE = ("hack/images/storage/Dockerfile", f"{_REQUIREMENTS}/uv.txt")
INITIALIZERS = {
    version: Sources(files=(*_STORAGE, "hack/images/storage/initializer.py", f"{_REQUIREMENTS}/storage-{version}.txt"))
    for version in SUMS
}
"""By version of KServe: its download container is made of kserve-storage of the same version."""
S3 = Sources(files=(*_STORAGE, "hack/s3/server.py", f"{_REQUIREMENTS}/s3.txt"))


def version(root: Path = ROOT) -> str:
    """Return the project's version."""
    return str(_project(root)["version"])


def distribution(root: Path = ROOT) -> str:
    """Return what the runtime image takes from pyproject.toml; the rest of it changes often and means nothing there."""
    project = _project(root)
    return json.dumps([project["version"], project["entry-points"]], sort_keys=True)


def _project(root: Path) -> dict[str, Any]:
    project: dict[str, Any] = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return project


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


def digest(sources: Sources, root: Path = ROOT, more: str = "") -> str:
    """Return twelve digits that change with any name or byte."""
    state = hashlib.sha256(more.encode())
    for path in paths(sources, root):
        text = path.read_bytes()
        state.update(f"{path.relative_to(root).as_posix()}\0{len(text)}\0".encode())
        state.update(text)
    return state.hexdigest()[:12]
