"""A lock as a requirements file: what an image installs, with the hashes of the files that it can install.

uv writes a lock as pylock.toml, which has each file's name and hash. The name shows which files are for other systems.
"""

import functools
import itertools
import re
import tomllib
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

from packaging.markers import Marker
from packaging.tags import Tag, compatible_tags, cpython_tags
from packaging.utils import parse_wheel_filename

from hack.cluster.errors import ClusterError

_PROCESSORS = ("x86_64", "aarch64")
# Debian 12 has glibc 2.36, Ubuntu 22.04 has 2.35: no package asks for the newer of the two.
_NAMES = (*(f"manylinux_2_{minor}" for minor in range(5, 37)), "manylinux2014", "manylinux2010", "manylinux1", "linux")
_LINUX = tuple(f"{name}_{processor}" for name in _NAMES for processor in _PROCESSORS)


@dataclass(frozen=True, kw_only=True, slots=True)
class Installs:
    """Who installs: these Pythons on Linux; `built` are made from their source. No Python: everybody, everywhere."""

    pythons: tuple[str, ...] = ()
    built: tuple[str, ...] = ()

    def marker(self, written: str | None) -> str | None:
        """The result of a package's marker: empty if all environments install it, None if none does."""
        if not self.pythons or written is None:
            return written or ""
        needed = {Marker(written).evaluate(each) for each in self._environments()}
        return None if needed == {False} else "" if needed == {True} else written

    def takes(self, package: str, name: str) -> bool:
        """Whether one of them could install this file."""
        if not self.pythons:
            return True
        if not name.endswith(".whl"):
            return package in self.built
        return package not in self.built and not parse_wheel_filename(name)[3].isdisjoint(_tags(self.pythons))

    def _environments(self) -> Iterator[dict[str, str | AbstractSet[str]]]:
        for python, processor in itertools.product(self.pythons, _PROCESSORS):
            yield {
                "python_version": python,
                "python_full_version": f"{python}.2",
                "platform_machine": processor,
                "sys_platform": "linux",
                "platform_system": "Linux",
                "os_name": "posix",
                "implementation_name": "cpython",
                "platform_python_implementation": "CPython",
            }


def requirements(lock: str, installs: Installs, left_out: re.Pattern[str]) -> str:
    """Return the requirements file; packages whose names match `left_out` are not in it.

    Raises ClusterError for a package that the image needs and cannot install from any file that the lock names.
    """
    return "".join(
        _entry(package, marker, installs)
        for package in tomllib.loads(lock)["packages"]
        if not left_out.match(package["name"]) and (marker := installs.marker(package.get("marker"))) is not None
    )


def _entry(package: Mapping[str, Any], marker: str, installs: Installs) -> str:
    pin = f"{package['name']}=={package['version']}" + (f" ; {marker}" if marker else "")
    hashes = sorted(_hashes(package, installs))
    if not hashes:
        raise ClusterError(
            f"{pin}: the lock names no file of it for Python {' or '.join(installs.pythons)} on Linux: choose a "
            "version that has one, or let it be built (`built` in hack/images/locked.toml)"
        )
    return " \\\n    ".join((pin, *(f"--hash=sha256:{each}" for each in hashes))) + "\n"


def _hashes(package: Mapping[str, Any], installs: Installs) -> Iterator[str]:
    for file in (*package.get("wheels", ()), *((package["sdist"],) if "sdist" in package else ())):
        if installs.takes(package["name"], file.get("name") or file["url"].rpartition("/")[2]):
            yield file["hashes"]["sha256"]


@functools.cache
def _tags(pythons: tuple[str, ...]) -> frozenset[Tag]:
    return frozenset(
        tag
        for major, minor in (python.split(".") for python in pythons)
        for tag in (
            *cpython_tags((int(major), int(minor)), platforms=_LINUX),
            *compatible_tags((int(major), int(minor)), f"cp{major}{minor}", _LINUX),
        )
    )
