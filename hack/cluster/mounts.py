"""What is mounted below a folder, and how to undo it.

Removing a folder with mounts in it would remove other people's files, so nothing here removes anything."""

import ctypes
import os
import pathlib
import re

_DETACH = 2
_LIBC = ctypes.CDLL(None, use_errno=True)


def below(folder: pathlib.Path, mountinfo: str | None = None) -> list[pathlib.Path]:
    """List the mount points at and below a folder, last mounted first."""
    text = pathlib.Path("/proc/self/mountinfo").read_text() if mountinfo is None else mountinfo
    points = [pathlib.Path(_unescaped(line.split()[4])) for line in text.splitlines()]
    return [point for point in reversed(points) if point == folder or folder in point.parents]


def filesystem(path: pathlib.Path, mountinfo: str | None = None) -> str:
    """Return the type of the file system that a path lies on."""
    text = pathlib.Path("/proc/self/mountinfo").read_text() if mountinfo is None else mountinfo
    kinds = {}
    for line in text.splitlines():
        where, _, what = line.partition(" - ")
        kinds[pathlib.Path(_unescaped(where.split()[4]))] = what.split()[0]
    covering = [point for point in kinds if point == path or point in path.parents]
    return kinds[max(covering, key=lambda point: len(point.parts))]


def undo(folder: pathlib.Path) -> None:
    """Unmount everything at and below a folder, also what is still in use."""
    for point in below(folder):
        if _LIBC.umount2(os.fsencode(point), _DETACH) != 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), str(point))


def _unescaped(field: str) -> str:
    """The kernel writes spaces and the like as octal."""
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), field)
