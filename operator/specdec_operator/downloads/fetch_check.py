"""Whether what came can be a whole model. A part of the program in fetch.py."""

import contextlib
import json
import os
import pathlib
from collections.abc import Iterator

from specdec_operator.downloads.fetch_failure import Refused


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
        raise Refused("NotFound", "nothing came: no file there, or staging.include and staging.exclude leave none")
    flaws = [flaw for name, size in sorted(files.items()) for flaw in _flaws(folder, name, size, files)]
    if flaws:
        raise Refused("Incomplete", "; ".join(flaws[:3]) + (f"; and {len(flaws) - 3} more" if flaws[3:] else ""))
    return files


def _flaws(folder: pathlib.Path, name: str, size: int, files: dict[str, int]) -> Iterator[str]:
    """What is wrong with one file: a config that is no JSON, shards that did not come, weights that were cut short."""
    path = folder / name
    try:
        if name.endswith(".safetensors.index.json"):
            for shard in sorted(set(json.loads(path.read_text())["weight_map"].values())):
                if not files.get((path.parent / shard).relative_to(folder).as_posix()):
                    yield f"{shard} is named by {name} and did not come, or is empty"
        elif path.name == "config.json":
            json.loads(path.read_text())
        elif name.endswith(".safetensors") and size < (whole := _safetensors_size(path, size)):
            yield f"{name} is cut short: {size} of {whole} bytes"
    except (ValueError, KeyError, TypeError, AttributeError, IndexError):
        yield f"{name} is not what its name says"


def _safetensors_size(path: pathlib.Path, size: int) -> int:
    """The bytes that a safetensors file has by its own header. Raises ValueError for what is no header."""
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if length > size:
            raise ValueError("a header longer than the file")
        header = json.loads(file.read(length))
    ends = (each["data_offsets"][1] for name, each in header.items() if name != "__metadata__")
    return 8 + length + max(ends, default=0)
