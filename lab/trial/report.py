"""Builds an image, asks it, and writes docs/images/NAME.json; docs/images.md has a table of it."""

import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from hack import images
from hack.cluster import paths, shell
from hack.images import build, content, tool
from hack.machine import describe, hardware
from hack.pages import filled
from hack.release import dockerfile

from lab.trial import models, questions

FOLDER: Final = content.ROOT / "docs" / "images"
KINDS: Final = ("nvidia", "ascend")
_GIVEN: Final = ("KERNELS", "MAX_JOBS", "PACKAGE_INDEX", "ASCEND_INDEX", "ASCEND_HASHES", "ASCEND_BASE_IMAGE")


def arguments(kind: str, environment: Mapping[str, str], pulled: Callable[[str], bool]) -> dict[str, str]:
    """Return what the build is given beyond its defaults: what the environment sets, and what is unavailable here."""
    given = {name: environment[name] for name in _GIVEN if environment.get(name)}
    if kind != "ascend":
        return {name: value for name, value in given.items() if not name.startswith("ASCEND")}
    base = given.get("ASCEND_BASE_IMAGE") or dockerfile.default("Dockerfile.runtime", "ASCEND_BASE_IMAGE")
    if not pulled(base):
        given["ASCEND_BASE_IMAGE"] = build.LOCAL
    return {"ASCEND_INDEX": "none", **given}


def trial(kind: str, say: Callable[[str], None]) -> Path:
    """Build one image, ask it, write its answers, and remove it: it has gigabytes. KEEP=yes keeps it."""
    builder, wanted = tool.choose(), build.product(kind)
    given = arguments(kind, os.environ, lambda ref: builder.has(ref) or builder.pulled(ref))
    there, started = builder.has(wanted.ref), time.monotonic()
    build.ensure(builder, wanted, say, given)
    seconds = None if there else round(time.monotonic() - started)
    say(f"{wanted.ref}: {builder.size(wanted.ref)}, {'built before' if there else f'built in {seconds} s'}")
    built = {"seconds": seconds, "size": builder.size(wanted.ref), "given": given}
    if there and (before := _before(kind, wanted.ref)):
        built = before
    with _folder() as folder, questions.opened(builder, wanted.ref, folder) as image:
        path = _write(kind, built, image)
    if os.environ.get("KEEP") != "yes":
        shell.ask(builder.remove(wanted.ref), timeout=600)
    return path


def _before(kind: str, ref: str) -> dict[str, Any]:
    """The last report's entry on the same image's build, if it is only asked again; empty for another image."""
    path = FOLDER / f"{kind}.json"
    found = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    same = found.get("image") == ref.rpartition("/")[2]
    return {name: value for name, value in found["built"].items() if name != "parts"} if same else {}


@contextmanager
def _folder() -> Iterator[Path]:
    """A folder with the tiny model, for the length of a block; any user may read it, as a pod's volumes."""
    paths.cache().mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=paths.cache(), prefix="trial-") as name:
        folder = Path(name)
        models.write_tiny(folder / "tiny")
        folder.chmod(0o755)
        yield folder


def _parts(image: questions.TrialImage) -> dict[str, str]:
    """The largest parts of the image, by `du`."""
    words = ("du", "-sm", "/opt/engine", "/usr", "/opt/specdec")
    found = image.ask(words, {})
    return {name: f"{size} MB" for size, name in (line.split("\t") for line in found["said"].splitlines())}


def _write(kind: str, built: Mapping[str, Any], image: questions.TrialImage) -> Path:
    """Ask the image, and write the file."""
    found = {
        "image": images.accelerated(kind).rpartition("/")[2],
        "machine": hardware(asdict(describe())),
        "built": {**built, "parts": _parts(image)},
        **asdict(questions.ask_all(image, kind)),
    }
    FOLDER.mkdir(parents=True, exist_ok=True)
    path = FOLDER / f"{kind}.json"
    path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return path


def page(text: str, folder: Path = FOLDER) -> str:
    """docs/images.md with its tables as the last trials left them. Raises ValueError where marks are missing."""
    files = {kind: folder / f"{kind}.json" for kind in KINDS}
    known = {kind: json.loads(path.read_text("utf-8")) for kind, path in files.items() if path.exists()}
    return filled(text, "docs/images.md", {"trial": {"trials": known}})
