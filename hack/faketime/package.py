"""Where libfaketime comes from: Debian's package, unpacked into the cache. It is preloaded into one process alone."""

import pathlib
import shutil
from collections.abc import Callable

from hack import debian
from hack.cluster import paths

_LIBRARY = pathlib.Path("libfaketimeMT.so.1")


def ensure(say: Callable[[str], None] = print) -> pathlib.Path:
    """Return the path of the library for programs with threads, after fetching it where it is missing.

    Two callers fetch it once. Raises ClusterError where it cannot be had.
    """
    wanted = debian.Wanted(
        packages=("libfaketime",),
        file=_LIBRARY,
        absent="a process's clock cannot be set without libfaketime",
        way_out="leave out the tests of clocks (pytest --deselect tests/wire/faults/test_clock.py)",
    )
    return debian.unpack(paths.cache() / "faketime", wanted, say=say, finish=_lay_on_top)


def _lay_on_top(tree: pathlib.Path) -> None:
    """The package has the library in a folder that is called after the processor."""
    (found,) = tree.glob(f"usr/lib/*/faketime/{_LIBRARY}")
    shutil.copy2(found, tree / _LIBRARY)
