"""Where the programs come from: the machine's own, or Debian's package, unpacked into the cache."""

import pathlib
import shutil
from collections.abc import Callable

from hack import debian
from hack.cluster import paths

_PACKAGE = "prometheus"
_PROGRAMS = pathlib.Path("usr/bin")


def ensure(say: Callable[[str], None] = print) -> pathlib.Path:
    """Return the path of the server, after fetching it where it is missing. Two callers fetch it once."""
    return _ensure("prometheus", say)


def promtool(say: Callable[[str], None] = print) -> pathlib.Path:
    """Return the path of the program that checks and tests rules; it comes with the server."""
    return _ensure("promtool", say)


def _ensure(name: str, say: Callable[[str], None]) -> pathlib.Path:
    if own := shutil.which(name):
        return pathlib.Path(own)
    wanted = debian.Wanted(
        packages=(_PACKAGE,),
        file=_PROGRAMS / name,
        absent=f"there is no program `{name}` on PATH",
        way_out="install one (https://prometheus.io/download)",
    )
    return debian.unpack(paths.cache() / "prometheus", wanted, say=say)
