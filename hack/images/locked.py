"""What each image installs: taken from uv.lock, less what the image never loads, each package with its files' hashes.
Generated, committed, verified.

The images of the tests and the tools of the builds are locked by themselves, because what they install and the
operator's client library exclude each other; they are resolved again only if their requirements change.
hack/images/locked.toml has these requirements.

python -m hack.images lock      writes the files again.
python -m hack.images verify    fails if they are stale.
python -m hack.images resolve   asks the package index whether each engine's requirements hold together on the platforms
                                that its image is built for; fails on the first that does not.

To resolve, nothing is installed: uv reads the packages' metadata, looks for a wheel of each, and resolves the pinned
set as a whole. That is what can be known of an image that cannot be built on this machine.
"""

import re
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

from hack.cluster.errors import ClusterError
from hack.images import hashed

ROOT = Path(__file__).parents[2]
FOLDER = Path(__file__).parent / "requirements"
_LOCK = "--format=pylock.toml"
_EXPORT = ("export", "--quiet", "--frozen", "--no-emit-project", _LOCK)
_COMPILE = ("pip", "compile", "--quiet", "--python-version=3.11", "--universal", _LOCK)
_TABLE = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
_EXTRAS, _ASKED = _TABLE["exported"], _TABLE["asked"]
_PIN = re.compile(r"^([A-Za-z0-9._-]+)==([^\s;]+)", re.MULTILINE)


def export(image: str) -> str:
    """Return the requirements of one image as the lock has them."""
    return select(image, _uv(*_EXPORT, *_EXTRAS[image]))


def resolve(image: str) -> str:
    """Resolve requirements that the lock does not have, and return them; the first line has the question."""
    lock = _uv(*_COMPILE, "-", asked="\n".join(_ASKED[image]))
    return f"{_question(image)}\n{select(image, lock)}"


def select(image: str, lock: str) -> str:
    """Return what the image needs of a pylock.toml, with hashes. Raises ClusterError where there is no file of it."""
    installs = hashed.Installs(pythons=tuple(_TABLE["pythons"].get(image, ["3.11"])), built=_built(image))
    return hashed.requirements(lock, installs, _left_out(image))


def _built(image: str) -> tuple[str, ...]:
    return tuple(_TABLE["built"].get(image, ()))


def _left_out(image: str) -> re.Pattern[str]:
    return re.compile(_TABLE["left_out"].get(image.partition("-")[0], "$^"))


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
    """Return the files that differ from the lock, or that answer another question."""
    return [str(path(image).relative_to(ROOT)) for image in (*_EXTRAS, *_ASKED) if _is_stale(image)]


def _is_stale(image: str) -> bool:
    found = path(image).read_text(encoding="utf-8") if path(image).exists() else ""
    if image in _EXTRAS:
        return found != export(image)
    return found.partition("\n")[0] != _question(image)


def _question(image: str) -> str:
    return f"# {' '.join(_ASKED[image])} without {_left_out(image).pattern}"


def is_left_out(image: str, package: str) -> bool:
    """Return whether an image omits a package that its requirements would bring."""
    return _left_out(image).match(package) is not None


def ask_uv(*words: str, asked: str | None = None) -> subprocess.CompletedProcess[str]:
    """Run this environment's uv in the repository: its pyproject.toml corrects the metadata of some packages."""
    command = [str(Path(sys.executable).with_name("uv")), *words]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, input=asked)


def _uv(*words: str, asked: str | None = None) -> str:
    done = ask_uv(*words, asked=asked)
    done.check_returncode()
    return done.stdout


@dataclass(frozen=True, kw_only=True, slots=True)
class EnginePlatform:
    """One engine on one machine: what uv calls it, and the Python that the base image has."""

    engine: str
    machine: str
    python: str

    def options(self) -> tuple[str, ...]:
        """Return uv's options for it."""
        return (f"--python-platform={self.machine}", f"--python-version={self.python}")


# The C library's version is that of the base image: 2.36 in Debian 12, 2.35 in Ubuntu 22.04.
PLATFORMS = tuple(
    EnginePlatform(engine=engine, machine=f"{processor}-manylinux_{library}", python=python)
    for engine, library, python in (("cpu", "2_36", "3.11"), ("nvidia", "2_36", "3.11"), ("ascend", "2_35", "3.12"))
    for processor in ("x86_64", "aarch64")
)


class Unresolved(ClusterError):
    """The requirements do not hold together, or resolving them needs what the file does not name."""


def check(platform: EnginePlatform, requirements: str) -> int:
    """Resolve one engine's requirements for one platform and return how many packages that are; raise Unresolved."""
    found = pins(_resolve(platform, requirements))
    missing = sorted("==".join(pin) for pin in found - pins(requirements) if not is_left_out(platform.engine, pin[0]))
    if missing:
        raise Unresolved(
            f"{path(platform.engine).name} on {platform.machine} lacks {', '.join(missing)}: "
            "run `python -m hack.images lock` and commit the result"
        )
    return len(found)


def pins(text: str) -> set[tuple[str, str]]:
    """Return the names and versions in a requirements file; markers can give a package several."""
    return set(_PIN.findall(text))


def _resolve(platform: EnginePlatform, requirements: str) -> str:
    wheels = [f"--only-binary={name}" for name, _ in pins(requirements) if name not in _built(platform.engine)]
    words = ("pip", "compile", "--quiet", "--no-annotate", *platform.options(), *wheels, "-")
    done = ask_uv(*words, asked=requirements)
    if done.returncode != 0:
        raise Unresolved(f"{platform.engine} on {platform.machine}, Python {platform.python}: {done.stderr.strip()}")
    return done.stdout
