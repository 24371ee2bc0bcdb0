"""The Debian that the images stand on: the public image where a registry answers, else made from Debian's packages."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from hack.cluster import paths, shell
from hack.images import tool

PUBLIC = "debian:bookworm-slim"
LOCAL = "localhost/specdec-base:bookworm"
_MIRROR = "http://deb.debian.org/debian"
_PACKAGES = ("python3", "ca-certificates", "libnuma1", "libgomp1")
_MINUTES = 15 * 60


def ensure(builder: tool.Tool) -> str:
    """Return the name of a base image that is in the tool's store."""
    for ref in (LOCAL, PUBLIC):
        if builder.has(ref):
            return ref
    if builder.kind is not tool.Kind.BUILDAH or builder.pulled(PUBLIC):
        return PUBLIC
    _bootstrap()
    return LOCAL


def _bootstrap() -> None:
    """Make a Debian folder by debootstrap and commit it as an image of one layer."""
    tool.require("debootstrap")
    scratch = paths.cache() / "images"
    scratch.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=scratch) as folder:
        root = Path(folder) / "root"
        shell.run(
            ["debootstrap", "--variant=minbase", f"--include={','.join(_PACKAGES)}", "bookworm", str(root), _MIRROR],
            timeout=_MINUTES,
        )
        for leftover in ("var/cache/apt", "var/lib/apt/lists", "var/log"):
            shutil.rmtree(root / leftover)
            (root / leftover).mkdir()
        container = shell.run(["buildah", "from", "scratch"]).strip()
        try:
            shell.run(["buildah", "add", "--quiet", container, str(root), "/"], timeout=_MINUTES)
            shell.run(["buildah", "config", "--env", "PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", container])
            shell.run(["buildah", "commit", "--quiet", container, LOCAL], timeout=_MINUTES)
        finally:
            shell.ask(["buildah", "rm", container])
