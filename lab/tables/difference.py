"""What a release has that the tables do not, and the other way round, in lines to read before anything is written."""

from collections.abc import Iterator, Mapping
from typing import Any

from lab.tables.columns import ABOUT, at
from specdec_engine.tables import entries, row_holds, table
from specdec_engine.version import Version


def differences(facts: Mapping[str, Any]) -> list[str]:
    """By table and key, against the present entries of this release."""
    return [*_of_columns(facts), *_of_speculation(facts)]


def _of_columns(facts: Mapping[str, Any]) -> Iterator[str]:
    version, unread = Version.parse(facts["version"]), set(at(facts, "architectures/unread") or ())
    for name, keys in ABOUT.items():
        for key, path in keys:
            told = at(facts, path)
            if told is None:
                yield f"{name}/{key}: not told by this engine, kept"
                continue
            before = entries(name, key, version) if key in table(name) else []
            yield from _lines(f"{name}/{key}", set(told), set(before) - unread)


def _of_speculation(facts: Mapping[str, Any]) -> Iterator[str]:
    """Keys and methods: their rows are written by hand, with what they are for."""
    told = facts.get("speculation")
    if not told:
        yield "speculation: not told by this engine"
        return
    version = Version.parse(facts["version"])
    for name, key, has in (("fields", "fields", set(told["keys"])), ("methods", "methods", set(told["methods"]))):
        known = {word for word, row in table(name)[key].items() if row_holds(row, version)}
        yield from _lines(f"{name}.json, by hand", has - _INNER, known - _INNER)


_INNER = {"[ngram]"}


def _lines(what: str, told: set[str], known: set[str]) -> Iterator[str]:
    if new := sorted(told - known):
        yield f"{what}: new: {' '.join(new)}"
    if gone := sorted(known - told):
        yield f"{what}: gone: {' '.join(gone)}"
