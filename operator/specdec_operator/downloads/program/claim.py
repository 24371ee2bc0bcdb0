"""The contents of the PVC: artifacts with their markers, and what is half done. A part of the program in fetch.py.

The folder `CLAIM/KEY` is complete or does not exist. It is filled under another name; its marker `CLAIM/KEY.json`,
which notes the files and their sizes, is written before it takes its own. A folder without a marker is not ours.
"""

import contextlib
import errno
import json
import os
import pathlib
import re
import shutil
from collections.abc import Iterator
from typing import Any, Final

from specdec_operator.downloads.program.failure import DownloadRefused

_MARK: Final = frozenset({"uri", "files", "bytes", "seconds", "fetched_at"})
_PARTIAL: Final = re.compile(r"\.partial-(?P<key>[^-]+)-.+")


def arrived(claim: pathlib.Path, key: str) -> dict[str, Any] | None:
    """The marker of an artifact whose files have the sizes that it notes; None for one that is to be fetched."""
    marker = _marker(claim / f"{key}.json")
    if marker is None:
        return None
    there = files_of(claim / key)
    return marker if all(there.get(name) == size for name, size in marker["files"].items()) else None


def publish(claim: pathlib.Path, key: str, partial: pathlib.Path, marker: dict[str, Any]) -> None:
    """Gives a whole folder its name: from one moment to the next it is there, with its marker."""
    _settle(partial)
    written = claim / f"{partial.name}-marker"
    written.write_text(json.dumps(marker))
    _settle_file(str(written))
    written.replace(claim / f"{key}.json")
    _sync(str(claim))
    partial.rename(claim / key)
    _sync(str(claim))


def discard(claim: pathlib.Path, key: str) -> None:
    """Removes all there is of a key: never a half folder under the name that is served."""
    for left in claim.glob(f".partial-{key}-*"):
        _remove(left)
    old = claim / f".partial-{key}-old"
    with contextlib.suppress(FileNotFoundError):
        (claim / key).rename(old)
    (claim / f"{key}.json").unlink(missing_ok=True)
    _remove(old)


def sweep_partials(claim: pathlib.Path, keep: set[str], before: float) -> int:
    """Removes what was left half done for other keys `before` this run, so that there is room; returns bytes freed."""
    freed = 0
    for path in claim.glob(".partial-*"):
        named = _PARTIAL.fullmatch(path.name)
        with contextlib.suppress(OSError):
            if named and named["key"] not in keep and path.stat().st_mtime < before:
                freed += sum(files_of(path).values())
                _remove(path)
    return freed


def sweep(claim: pathlib.Path, keep: set[str], before: float) -> int:
    """Removes the artifacts that are not kept and were there `before` this run; returns the bytes freed."""
    freed = 0
    for path in claim.glob("*.json"):
        marker = None if path.stem in keep else _marker(path)
        with contextlib.suppress(OSError):
            if marker is not None and marker["fetched_at"] < before:
                there = sum(files_of(claim / path.stem).values())
                discard(claim, path.stem)
                freed += there
    return freed


def _marker(path: pathlib.Path) -> dict[str, Any] | None:
    """The content of a marker; None for a file that is not ours."""
    try:
        marker = json.loads(path.read_text())
    except (OSError, ValueError):
        return None
    return marker if isinstance(marker, dict) and set(marker) == _MARK else None


def _remove(path: pathlib.Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _settle(folder: pathlib.Path) -> None:
    """Makes every file readable for the users that serve it, and as durable as the disk can."""
    for root, _, names in os.walk(folder, topdown=False):
        for name in names:
            _settle_file(os.path.join(root, name))
        os.chmod(root, os.stat(root).st_mode | 0o755)  # noqa: S103 - pods of other users read it
        _sync(root)


def _settle_file(path: str) -> None:
    mode = os.stat(path).st_mode
    if mode | 0o444 != mode:
        os.chmod(path, mode | 0o444)
    _sync(path)


def _sync(path: str) -> None:
    at = os.open(path, os.O_RDONLY)
    try:
        os.fsync(at)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # a folder, on file systems that have no such thing
            raise
    finally:
        os.close(at)


def files_of(folder: pathlib.Path) -> dict[str, int]:
    """Every file below a folder, with its size in bytes."""
    found = {}
    for root, _, names in os.walk(folder):
        for name in names:
            path = pathlib.Path(root, name)
            with contextlib.suppress(FileNotFoundError):  # a temporary file of the download, gone meanwhile
                found[path.relative_to(folder).as_posix()] = path.stat().st_size
    return found


def checked(folder: pathlib.Path) -> dict[str, int]:
    """The files of a folder. Raises Refused where they cannot be a whole model."""
    files = files_of(folder)
    if not any(files.values()):
        raise DownloadRefused(
            "NotFound",
            "no file was downloaded: the source is empty, or staging.include and staging.exclude match no file",
        )
    flaws = [flaw for name, size in sorted(files.items()) for flaw in _flaws(folder, name, size, files)]
    if flaws:
        raise DownloadRefused(
            "Incomplete", "; ".join(flaws[:3]) + (f"; and {len(flaws) - 3} more" if flaws[3:] else "")
        )
    return files


def _flaws(folder: pathlib.Path, name: str, size: int, files: dict[str, int]) -> Iterator[str]:
    """What is wrong with one file: a config that is not JSON, shards that did not come, weights that were cut short."""
    path = folder / name
    try:
        if name.endswith(".safetensors.index.json"):
            for shard in sorted(set(json.loads(path.read_text())["weight_map"].values())):
                if not files.get((path.parent / shard).relative_to(folder).as_posix()):
                    yield f"{shard} is listed in {name}, but was not downloaded or is empty"
        elif path.name == "config.json":
            json.loads(path.read_text())
        elif name.endswith(".safetensors") and size < (whole := _safetensors_size(path, size)):
            yield f"{name} is incomplete: {size} of {whole} bytes"
    except (ValueError, KeyError, TypeError, AttributeError, IndexError):
        yield f"{name} does not have the format that its name implies"


def _safetensors_size(path: pathlib.Path, size: int) -> int:
    """The bytes that a safetensors file has by its own header. Raises ValueError for what is not a header."""
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if length > size:
            raise ValueError("the header is longer than the file")
        header = json.loads(file.read(length))
    ends = (each["data_offsets"][1] for name, each in header.items() if name != "__metadata__")
    return 8 + length + max(ends, default=0)
