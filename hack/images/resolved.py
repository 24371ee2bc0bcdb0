"""Asks the package index whether an engine's requirements hold together on the platforms that its image is built for.

Nothing is installed: uv reads the packages' metadata, looks for a wheel of each, and resolves the pinned set as a
whole. That is what can be known of an image that cannot be built on this machine.

python -m hack.images resolve      every engine on every platform; fails on the first that does not hold
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from hack.images import locked

_PIN = re.compile(r"^([A-Za-z0-9._-]+)==([^\s;]+)", re.MULTILINE)
# PyPI has these as source only, or is not to be asked for the wheel, which is CUDA's.
_BUILT = {"ascend": ("arctic-inference", "vllm")}
_BUILT_EVERYWHERE = ("arctic-inference",)


@dataclass(frozen=True, kw_only=True, slots=True)
class Platform:
    """One engine on one machine: what uv calls it, and the Python that the base image has."""

    engine: str
    machine: str
    python: str

    def options(self) -> tuple[str, ...]:
        """Return uv's words for it."""
        return (f"--python-platform={self.machine}", f"--python-version={self.python}")


# The C library's version is that of the base image: 2.36 in Debian 12, 2.35 in Ubuntu 22.04.
PLATFORMS = tuple(
    Platform(engine=engine, machine=f"{processor}-manylinux_{library}", python=python)
    for engine, library, python in (("cpu", "2_36", "3.11"), ("nvidia", "2_36", "3.11"), ("ascend", "2_35", "3.12"))
    for processor in ("x86_64", "aarch64")
)


class Unresolved(Exception):
    """The requirements do not hold together, or resolving them needs what the file does not name."""


def check(platform: Platform, requirements: str) -> int:
    """Resolve one engine's requirements for one platform and return how many packages that are; raise Unresolved."""
    found = pins(_resolve(platform, requirements))
    missing = sorted(
        "==".join(pin) for pin in found - pins(requirements) if not locked.is_left_out(platform.engine, pin[0])
    )
    if missing:
        raise Unresolved(
            f"{locked.path(platform.engine).name} on {platform.machine} lacks {', '.join(missing)}: "
            "run `python -m hack.images lock` and commit the result"
        )
    return len(found)


def pins(text: str) -> set[tuple[str, str]]:
    """Return the names and versions in a requirements file; markers can give a package several."""
    return set(_PIN.findall(text))


def _resolve(platform: Platform, requirements: str) -> str:
    built = _BUILT.get(platform.engine, _BUILT_EVERYWHERE)
    wheels = [f"--only-binary={name}" for name, _ in pins(requirements) if name not in built]
    words = ("pip", "compile", "--quiet", "--no-annotate", *platform.options(), *wheels, "-")
    done = locked.ask_uv(*words, asked=requirements)
    if done.returncode != 0:
        raise Unresolved(f"{platform.engine} on {platform.machine}, Python {platform.python}: {done.stderr.strip()}")
    return done.stdout
