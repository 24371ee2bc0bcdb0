"""Builds a Modelcar: an image with a model below /models and the few programs by which KServe's sidecar lends it.

Large files have a layer each, so that a registry takes and gives several at once and keeps those that did not change.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path

from hack.cluster import paths
from hack.cluster.errors import ClusterError
from hack.images import tool
from hack.images.build import foundation

# What the sidecar's own commands call, in addition to what is built into the shell.
_PROGRAMS = ("sh", "mkdir", "ln", "ls", "sleep")
# The engine reads the files by way of /proc, which the kernel allows to the same user only: our runtime image has it.
_USER = "65532:65532"
_CONFIG = "config.json"
_LARGE = 512 * 2**20
_MOST_LAYERS = 60  # image stores stop somewhat above a hundred
_NAME = re.compile(r"[a-z0-9]+([._-]+[a-z0-9]+)*(:[0-9]+)?(/[a-z0-9]+([._-]+[a-z0-9]+)*)*")
_TAG = re.compile(r"\w[\w.-]{0,127}", re.ASCII)


def check(folder: Path, ref: str) -> None:
    """Raise ClusterError for what would make an image that cannot be served, or pushed."""
    if not folder.is_dir():
        raise ClusterError(f"{folder} is not a folder: MODEL is the folder of a model in Hugging Face's layout")
    if not any((place / _CONFIG).is_file() for place in (folder, *folder.iterdir())):
        raise ClusterError(
            f"there is no {_CONFIG} in {folder}, nor in a folder of it: this is not a model that vLLM reads"
        )
    name, colon, tag = ref.rpartition(":")
    if not colon or "/" in tag:
        raise ClusterError(f"{ref or 'IMAGE'} has no tag: write REGISTRY/NAME:TAG, so that it is known what is served")
    if not _NAME.fullmatch(name) or not _TAG.fullmatch(tag):
        raise ClusterError(
            f"{ref} is not an image's name: lower-case letters, digits and . _ - in each part, then :TAG"
        )


def build(builder: tool.Tool, folder: Path, ref: str) -> int:
    """Build the image and return the number of bytes that it carries."""
    check(folder, ref)
    with paths.scratch() as context:
        size = stage(folder, Path(context))
        command = builder.build("Dockerfile", None, ref, {"BASE_IMAGE": foundation(builder)})
        done = subprocess.run(command, cwd=context, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        words = "\n".join((done.stdout + done.stderr).splitlines()[-20:])
        raise ClusterError(f"the build of {ref} failed:\n{words}")
    return size


def stage(folder: Path, context: Path) -> int:
    """Lay out what the build needs: the recipe, and the files by layer. Return the number of their bytes."""
    found = files(folder)
    layers = groups(found)
    for number, layer in enumerate(layers):
        for path in layer:
            _put(folder / path, context / f"layer-{number}" / "models" / path)
    (context / "Dockerfile").write_text(dockerfile(len(layers)), encoding="utf-8")
    return sum(size for _, size in found)


def push(builder: tool.Tool, ref: str) -> None:
    """Send the image to its registry."""
    done = subprocess.run(builder.push(ref), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        said = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        refused = any(word in said.lower() for word in ("unauthorized", "denied", "authentication required"))
        hint = f" (`{builder.kind} login` comes first)" if refused else ""
        raise ClusterError(f"{ref} was built but not pushed{hint}: {said}")


def files(folder: Path) -> list[tuple[Path, int]]:
    """Return the model's files, relative to the folder, with their sizes; hidden files are not part of a model."""
    found = []
    for path in sorted(folder.rglob("*")):
        relative = path.relative_to(folder)
        if path.is_file() and not any(part.startswith(".") for part in relative.parts):
            found.append((relative, path.stat().st_size))
    return found


def groups(found: list[tuple[Path, int]]) -> list[list[Path]]:
    """Return the files by layer: all small ones together, large ones apart as far as there may be layers."""
    small = [path for path, size in found if size < _LARGE]
    large = [path for path, size in found if size >= _LARGE]
    spread = [large[start::_MOST_LAYERS] for start in range(min(len(large), _MOST_LAYERS))]
    return [layer for layer in (small, *spread) if layer]


def dockerfile(layers: int) -> str:
    """Return the recipe for a folder with the layers' files."""
    links = f"for each in {' '.join(_PROGRAMS)}; do ln -s busybox /out/bin/$each; done"
    copies = [f"COPY layer-{number}/ /" for number in range(layers)]
    lines = [
        "ARG BASE_IMAGE",
        "FROM ${BASE_IMAGE} AS tools",
        "RUN apt-get update -qq && apt-get install -y -qq --no-install-recommends busybox-static >/dev/null \\",
        f"  && mkdir -p /out/bin && cp /bin/busybox /out/bin/ && {links} && rm -rf /var/lib/apt/lists /var/cache/apt",
        "FROM scratch",
        "COPY --from=tools /out /",
        *copies,
        "ENV PATH=/bin",
        f"USER {_USER}",
    ]
    return "\n".join(lines) + "\n"


def _put(source: Path, target: Path) -> None:
    """Put a file there that everybody can read: linked where that is possible, because weights are large."""
    target.parent.mkdir(parents=True, exist_ok=True)
    real = source.resolve()  # a download of Hugging Face's library is a folder of symbolic links
    if real.stat().st_mode & 0o444 == 0o444:
        try:
            os.link(real, target)
        except OSError:  # another file system, or one without links
            pass
        else:
            return
    shutil.copyfile(real, target)
    target.chmod(0o644)
