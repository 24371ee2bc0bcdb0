"""What the commands of hack have in common: how they end, and files that are written, or compared by `verify`."""

import os
import pathlib
import sys
from collections.abc import Callable, Mapping
from typing import NoReturn

from hack.cluster.errors import ClusterError


def run(main: Callable[[list[str]], int]) -> NoReturn:
    """Run a command with the words after its name; an expected failure is a sentence and the exit code 1."""
    try:
        sys.exit(main(sys.argv[1:]))
    except ClusterError as error:
        sys.exit(f"error: {error}")


def stale(files: Mapping[pathlib.Path, str]) -> list[pathlib.Path]:
    """The files that are not there, or that hold something else."""
    return [path for path, text in files.items() if not path.exists() or path.read_text(encoding="utf-8") != text]


def generate(files: Mapping[pathlib.Path, str], argv: list[str]) -> int:
    """Write what is stale; with `verify` name it, and return 1 where there is any."""
    found = stale(files)
    if argv == ["verify"]:
        for path in found:
            print(f"{os.path.relpath(path)} is stale: run `make generate` and commit the result.", file=sys.stderr)
        return int(bool(found))
    for path in found:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(files[path], encoding="utf-8")
    return 0
