"""A working container of buildah's in which an engine is complete, asked in place of an image.

To commit an image of 10 GB, buildah writes it three times more: a disk of 40 GB is not everybody's. Where the commit
failed for it, the container is still there; what the Dockerfile would put on top of the engine is put there by hand.
"""

import re
from collections.abc import Iterator

from hack.cluster import shell
from hack.images import content

_MINUTES = 600
_PROJECT = "/opt/specdec"
_COPIED = {
    "pyproject.toml": f"{_PROJECT}/pyproject.toml",
    "hack/images/engine/dist_info.py": f"{_PROJECT}/dist_info.py",
    "runtime/specdec_engine": f"{_PROJECT}/specdec_engine",
    "runtime/specdec_runtime": f"{_PROJECT}/specdec_runtime",
}


def environment(target: str, text: str) -> Iterator[tuple[str, str]]:
    """The variables that a target of the Dockerfile sets, less what it takes from its base."""
    stage = re.search(rf"^FROM \S+ AS {target}\n(.*?)(?=^FROM |\Z)", text, re.MULTILINE | re.DOTALL)
    if stage is None:
        raise KeyError(f"Dockerfile.runtime has no target {target}")
    for block in re.findall(r"^ENV ((?:.*\\\n)*.*)", stage[1], re.MULTILINE):
        for name, value in re.findall(r"(\w+)=(\S+)", block):
            yield name, re.sub(r":?\$\{\w+\}:?", "", value)


def finish(container: str, target: str) -> None:
    """Put the project's package and the target's environment into a container."""
    for source, place in _COPIED.items():
        shell.run(["buildah", "copy", "--quiet", container, str(content.ROOT / source), place], timeout=_MINUTES)
    python = "/opt/engine/bin/python"
    words = [python, f"{_PROJECT}/dist_info.py", f"{_PROJECT}/pyproject.toml", _PROJECT]
    shell.run(["buildah", "run", "--isolation=chroot", container, *words], timeout=_MINUTES)
    text = (content.ROOT / "Dockerfile.runtime").read_text(encoding="utf-8")
    options = [f"--env={name}={value}" for name, value in environment(target, text)]
    shell.run(["buildah", "config", *options, container], timeout=_MINUTES)
