"""The tables in `data/`, and their answer for a release that was not read: that of its neighbours, or not known."""

import functools
import json
import pathlib
from collections.abc import Mapping
from typing import Any, Final

from specdec_engine.version import Version, holds

_DATA: Final = pathlib.Path(__file__).parent / "data"


@functools.cache
def table(name: str) -> dict[str, Any]:
    """A table by its file's name without `.json`. Raises OSError where the package was installed without its data."""
    loaded: dict[str, Any] = json.loads((_DATA / f"{name}.json").read_text(encoding="utf-8"))
    return loaded


def cell_words(text: str | list[str]) -> list[str]:
    """The entries of a cell: words in one line, or in several."""
    return (text if isinstance(text, str) else " ".join(text)).split()


@functools.lru_cache(maxsize=4096)
def in_release(name: str, key: str, entry: str, version: Version) -> bool | None:
    """Whether a release has an entry. None if the releases that were read do not show it.

    A cell's name has one digit for each release in `versions`: 1 if the release has the entry.
    """
    read = _versions(name)
    mark = _marks(name, key).get(entry, "0" * len(read))
    minor = (version.major, version.minor)
    before = [digit for each, digit in zip(read, mark, strict=True) if (each.major, each.minor) <= minor]
    after = [digit for each, digit in zip(read, mark, strict=True) if (each.major, each.minor) >= minor]
    near = {*before[-1:], *after[:1]}
    if near == {"1"}:
        return True
    return False if near == {"0"} and before and after else None


def releases(name: str, key: str, entry: str) -> list[Version]:
    """The releases of those that were read which have an entry."""
    mark = _marks(name, key).get(entry, "")
    return [each for each, digit in zip(_versions(name), mark, strict=False) if digit == "1"]


def row_holds(row: Mapping[str, Any], version: Version) -> bool:
    """Whether a row of a table is about a version: from its `since` to its `until`, both inclusive."""
    return holds(version, row.get("since", ""), row.get("until", ""))


def entries(name: str, key: str, version: Version) -> list[str]:
    """All entries that a release certainly has, sorted."""
    return sorted(entry for entry in _marks(name, key) if in_release(name, key, entry, version))


@functools.cache
def _versions(name: str) -> tuple[Version, ...]:
    return tuple(Version.parse(each) for each in table(name)["versions"])


@functools.cache
def _marks(name: str, path: str) -> dict[str, str]:
    cells: dict[str, Any] = table(name)
    for step in path.split("/"):
        cells = cells[step]
    return {entry: mark for mark, text in cells.items() for entry in cell_words(text)}
