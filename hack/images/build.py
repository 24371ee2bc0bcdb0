"""Builds what is missing and removes what it replaces: an engine image is gigabytes."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hack import images
from hack.cluster import shell
from hack.cluster.errors import ClusterError
from hack.images import base, content, tool

if TYPE_CHECKING:
    from collections.abc import Callable

# How many states of the tree stay in the store; their big layer is shared.
_KEPT = 3
_LABELLED = ("cpu",)
_STORAGE = "hack/images/storage/Dockerfile"
INITIALIZER = "localhost/storage-initializer:v0.20.0"
"""What the local KServe's ConfigMap calls its download container."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Product:
    """One image to build. `alias` is a name under which others look for it on the node."""

    ref: str
    file: str
    target: str | None = None
    alias: str | None = None


def product(name: str) -> Product:
    """Return what a short name stands for in this state of the tree."""
    refs = images.refs()
    match name:
        case "operator":
            return Product(ref=refs.operator, file="Dockerfile.operator")
        case "runtime":
            return Product(ref=refs.runtime, file="Dockerfile.runtime", target="cpu")
        case "initializer":
            return Product(ref=refs.initializer, file=_STORAGE, target="initializer", alias=INITIALIZER)
        case _:
            return Product(ref=refs.s3, file=_STORAGE, target="s3")


def ensure(builder: tool.Tool, wanted: Product, say: Callable[[str], None]) -> bool:
    """Build an image unless it is there already; tell whether it was built."""
    if builder.has(wanted.ref):
        return False
    foundation = base.ensure(builder)
    say(f"building {wanted.ref} on {foundation}")
    arguments = {"BASE_IMAGE": foundation} | (labels() if wanted.target in _LABELLED else {})
    command = builder.build(wanted.file, wanted.target, wanted.ref, arguments)
    done = subprocess.run(command, cwd=content.ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        words = "\n".join((done.stdout + done.stderr).splitlines()[-30:])
        raise ClusterError(f"the build of {wanted.ref} from {wanted.file} failed:\n{words}")
    _forget_old(builder, wanted)
    return True


def labels() -> dict[str, str]:
    """Return what the runtime image's labels say: the project's version and the commit; `unknown` outside of Git."""
    revision = shell.ask(["git", "-C", str(content.ROOT), "rev-parse", "HEAD"])
    return {"VERSION": content.version(), "REVISION": revision.out.strip() if revision.code == 0 else "unknown"}


def _forget_old(builder: tool.Tool, wanted: Product) -> None:
    """Remove older images of the same kind; one that is still used by a container stays."""
    repository = wanted.ref.rpartition(":")[0]
    for ref in builder.names(repository)[_KEPT:]:
        if ref != wanted.ref:
            subprocess.run(builder.remove(ref), capture_output=True, check=False)
