"""What each image installs: taken from uv.lock, less what the image never loads. Generated, committed, verified.

python -m hack.images lock      writes the files again
python -m hack.images verify    fails when they are stale
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDER = Path(__file__).parent / "requirements"
_EXPORT = ("export", "--quiet", "--frozen", "--no-emit-project", "--no-hashes", "--no-annotate", "--no-header")
_EXTRAS = {"operator": (), "cpu": ("--extra", "cpu")}
# The engine needs neither the operator's client libraries, nor CUDA (stubs stand in for it), nor what reads images
# and sound. PyTorch calls the CUDA runtime while it is loaded, so that one stays.
_LEFT_OUT = {
    "operator": re.compile(r"$^"),
    "cpu": re.compile(r"^(kopf|kubernetes|triton|nvidia-(?!cuda-runtime)|cuda-|opencv-|torchcodec)"),
}


def export(image: str) -> str:
    """Return the requirements of one image as the lock has them."""
    uv = Path(sys.executable).with_name("uv")
    done = subprocess.run([str(uv), *_EXPORT, *_EXTRAS[image]], cwd=ROOT, capture_output=True, text=True, check=True)
    return select(done.stdout, _LEFT_OUT[image])


def select(lines: str, left_out: re.Pattern[str]) -> str:
    """Return the lines whose package the image needs."""
    return "".join(f"{line}\n" for line in lines.splitlines() if line and not left_out.match(line))


def path(image: str) -> Path:
    """Return where an image's requirements are kept."""
    return FOLDER / f"{image}.txt"


def write() -> None:
    """Write every file again."""
    FOLDER.mkdir(exist_ok=True)
    for image in _EXTRAS:
        path(image).write_text(export(image), encoding="utf-8")


def stale() -> list[str]:
    """Return the files that do not say what the lock says."""
    return [
        str(path(image).relative_to(ROOT))
        for image in _EXTRAS
        if not path(image).exists() or path(image).read_text(encoding="utf-8") != export(image)
    ]
