"""What each image installs: taken from uv.lock, less what the image never loads. Generated, committed, verified.

The images of the tests and the tools of the builds are locked by themselves, because what they install and the
operator's client library exclude each other; they are resolved anew only where something else is asked of them.

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
# The engines need nothing that only the operator's own packages ask for.
_ENGINE = ("--prune=kopf", "--prune=kubernetes", "--extra")
_EXTRAS = {
    "operator": (),
    "cpu": (*_ENGINE, "cpu"),
    "nvidia": (*_ENGINE, "nvidia"),
    "ascend": (*_ENGINE, "ascend"),
}
_COMPILE = (
    "pip",
    "compile",
    "--quiet",
    "--python-version=3.11",
    "--python-platform=linux",
    "--no-annotate",
    "--no-header",
)
_ASKED = {
    "storage": ("kserve-storage==0.20.0",),
    "s3": ("moto[s3]==5.2.5", "flask>=3,<4", "flask-cors>=6,<7"),
    # What the packages are built with that PyPI has as source only: arctic-inference, and vLLM without a device.
    "build": (
        "cmake>=4,<5",
        "grpcio-tools",
        "jinja2",
        "nanobind==2.9.2",
        "ninja",
        "packaging",
        "setuptools<81",
        "setuptools-rust",
        "setuptools-scm",
        "wheel",
    ),
    "sbom": ("cyclonedx-bom>=7.5,<8", "debsbom==0.10.2"),
}
# An engine that is not CUDA's needs none of it (stubs stand in for it), nor what reads images and sound. PyTorch calls
# the CUDA runtime while it is loaded, so that one stays. Ascend's Triton takes the place of the other.
_LEFT_OUT = {
    "operator": re.compile(r"$^"),
    "cpu": re.compile(r"^(triton|nvidia-(?!cuda-runtime)|cuda-|opencv-|torchcodec)"),
    "nvidia": re.compile(r"$^"),
    "ascend": re.compile(r"^(triton|nvidia-(?!cuda-runtime)|cuda-)"),
    "build": re.compile(r"$^"),
    "sbom": re.compile(r"$^"),
    # The store of the tests speaks S3 only: what reads Azure, Google's storage and Git is never loaded.
    "storage": re.compile(
        r"^(azure-|msal|isodate|google|proto|dulwich|opentelemetry|pyasn1|pyjwt|crypto|cffi|pycparser"
        r"|aio|multidict|yarl|frozenlist|propcache|attrs)"
    ),
    "s3": re.compile(r"$^"),
}


def export(image: str) -> str:
    """Return the requirements of one image as the lock has them."""
    lines = _uv(*_EXPORT, *_EXTRAS[image])
    return select(lines, _LEFT_OUT[image])


def resolve(image: str) -> str:
    """Return requirements that the lock does not have, resolved anew; the first line says what was asked."""
    lines = _uv(*_COMPILE, "-", asked="\n".join(_ASKED[image]))
    return f"{_question(image)}\n{select(lines, _LEFT_OUT[image])}"


def select(lines: str, left_out: re.Pattern[str]) -> str:
    """Return the lines whose package the image needs."""
    return "".join(f"{line}\n" for line in lines.splitlines() if line and not left_out.match(line))


def path(image: str) -> Path:
    """Return where an image's requirements are kept."""
    return FOLDER / f"{image}.txt"


def write() -> None:
    """Write every stale file again."""
    FOLDER.mkdir(exist_ok=True)
    for image in (*_EXTRAS, *_ASKED):
        if _is_stale(image):
            path(image).write_text(export(image) if image in _EXTRAS else resolve(image), encoding="utf-8")


def stale() -> list[str]:
    """Return the files that do not say what the lock says, or that answer another question."""
    return [str(path(image).relative_to(ROOT)) for image in (*_EXTRAS, *_ASKED) if _is_stale(image)]


def _is_stale(image: str) -> bool:
    found = path(image).read_text(encoding="utf-8") if path(image).exists() else ""
    if image in _EXTRAS:
        return found != export(image)
    return found.partition("\n")[0] != _question(image)


def _question(image: str) -> str:
    return f"# {' '.join(_ASKED[image])} without {_LEFT_OUT[image].pattern}"


def is_left_out(image: str, package: str) -> bool:
    """Tell whether an image goes without a package that its requirements would bring."""
    return _LEFT_OUT[image].match(package) is not None


def ask_uv(*words: str, asked: str | None = None) -> subprocess.CompletedProcess[str]:
    """Run this environment's uv in the repository: its pyproject.toml corrects what some packages say of themselves."""
    command = [str(Path(sys.executable).with_name("uv")), *words]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, input=asked)


def _uv(*words: str, asked: str | None = None) -> str:
    done = ask_uv(*words, asked=asked)
    done.check_returncode()
    return done.stdout
