"""The wall clock of one process, which a test sets; its monotonic clock goes on. A stand-in for a machine's clock."""

import os
import pathlib
import shutil
from collections.abc import Callable

from hack.cluster import paths

from tests import debian

_LIBRARY = pathlib.Path("libfaketimeMT.so.1")


class Clock:
    """Right at first. environment: what the process is started with."""

    def __init__(self, folder: pathlib.Path) -> None:
        self._file = folder / "clock"
        self.set(0)
        self.environment = {
            "LD_PRELOAD": str(library()),
            "FAKETIME_TIMESTAMP_FILE": str(self._file),
            "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        }

    def set(self, seconds: int) -> None:
        """Sets it so many seconds ahead of the right time."""
        new = self._file.with_suffix(".new")
        new.write_text(f"{seconds:+d}\n")
        os.replace(new, self._file)


def library(say: Callable[[str], None] = print) -> pathlib.Path:
    """Return the path of libfaketime for programs with threads, after fetching it where it is missing.

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
