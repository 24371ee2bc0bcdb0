"""A release's column in the tables of engine/data: added, or replaced where the release was read before.

A cell's name has a digit for each release of its table; entries move to the cell whose name shows where they are.
"""

import textwrap
from collections.abc import Iterable, Mapping
from typing import Any, Final

from specdec_engine.tables import cell_words
from specdec_engine.version import Version

_WIDE: Final = 102
Table = dict[str, Any]

ABOUT: Final[Mapping[str, tuple[tuple[str, str], ...]]] = {
    "flags": (("flags", "flags/flags"),),
    "architectures": (
        *(("registered", "architectures/registered"), ("no_pipeline", "architectures/no_pipeline")),
        ("no_adapters", "architectures/no_adapters"),
        *(("embedding_only", "architectures/embedding_only"), ("recurrent", "architectures/recurrent")),
        *(("multimodal", "architectures/multimodal"), ("gives_hidden_states", "architectures/gives_hidden_states")),
    ),
    "model_types": (("known", "model_types/known"), ("transformers_backend", "model_types/transformers_backend")),
    "values": tuple(
        (name, f"values/{name}")
        for name in (
            *("quantization", "deprecated_quantization", "kv_cache_dtype", "moe_backend", "attention_backend"),
            *("load_config", "cudagraph_mode"),
        )
    ),
}
"""For each table its keys, and where the facts have the entries."""


def at(facts: Mapping[str, Any], path: str) -> list[str] | None:
    """The entries at a place of the facts; None if the release was not asked for them, or had no answer."""
    value: Any = facts
    for step in path.split("/"):
        value = value.get(step) if isinstance(value, Mapping) else None
    return value if isinstance(value, list) else None


def with_column(table: Table, name: str, facts: Mapping[str, Any]) -> Table:
    """The table with the release's column. A key without an answer of the release keeps that of the release below."""
    release, versions = facts["version"], list(table["versions"])
    place = sum(Version.parse(each) < Version.parse(release) for each in versions)
    known = release in versions
    made = {**table, "versions": versions if known else [*versions[:place], release, *versions[place:]]}
    unread = set(at(facts, "architectures/unread") or ())
    for key, path in ABOUT[name]:
        cells, told = table.get(key, {}), at(facts, path)
        marks = _marks(cells)
        entries = None if told is None else set(told)
        made[key] = _cells(
            {
                entry: _digit(
                    marks.get(entry, "0" * len(versions)),
                    place,
                    known=known,
                    there=_there(entry, entries, unread if key != "registered" else ()),
                )
                for entry in {*marks, *(entries or ())}
            }
        )
    if name == "flags":
        made |= _flag_details(table, facts, place, known=known)
    return made


def _there(entry: str, entries: set[str] | None, unread: Iterable[str]) -> bool | None:
    return None if entries is None or entry in unread else entry in entries


def _digit(mark: str, place: int, *, known: bool, there: bool | None) -> str:
    """The mark with the release's digit; what is not known is as in the release before."""
    before = mark[place] if known else mark[place - 1] if place else "0"
    digit = before if there is None else str(int(there))
    return mark[:place] + digit + mark[place + known :]


def _marks(cells: Mapping[str, Any]) -> dict[str, str]:
    return {entry: mark for mark, text in cells.items() for entry in cell_words(text)}


def _cells(marks: Mapping[str, str]) -> dict[str, Any]:
    """Cells from marks: the entries that are everywhere first; what is nowhere is left out."""
    by_mark: dict[str, list[str]] = {}
    for entry, mark in sorted(marks.items()):
        if "1" in mark:
            by_mark.setdefault(mark, []).append(entry)
    order = sorted(by_mark, key=lambda mark: (mark.index("1"), -mark.count("1"), mark))
    return {mark: _lines(by_mark[mark]) for mark in order}


def _lines(words: list[str]) -> str | list[str]:
    lines = textwrap.wrap(" ".join(words), _WIDE, break_long_words=False, break_on_hyphens=False)
    return lines[0] if len(lines) == 1 else lines


def _flag_details(table: Table, facts: Mapping[str, Any], place: int, *, known: bool) -> Table:
    """Kinds of new flags, the values of those that have a list, and short names."""
    told = facts["flags"]
    has = {name for names in table["kinds"].values() for name in cell_words(names)}
    kinds = {
        kind: _lines(sorted({*cell_words(names), *_new(told["kinds"], kind, has)}))
        for kind, names in table["kinds"].items()
    }
    width = len(table["versions"])

    def column(cells: Any, entries: Iterable[str] | None) -> Any:
        """Cells with the digit of this version. entries: what it has; None: it was not asked."""
        marks, there = _marks(cells), None if entries is None else set(entries)
        digits = {
            each: _digit(marks.get(each, "0" * width), place, known=known, there=_there(each, there, ()))
            for each in {*marks, *(there or ())}
        }
        return _cells(digits)

    return {
        "kinds": kinds,
        "values": {name: column(cells, told["values"].get(name)) for name, cells in table["values"].items()},
        "short": dict(sorted({**table["short"], **told["short"]}.items())),
        "short_in": column(table["short_in"], told["short"]),
    }


def _new(kinds: Mapping[str, str], kind: str, has: set[str]) -> set[str]:
    return {name for name, each in kinds.items() if each == kind and name not in has}


def batch_rows(table: Table, facts: Mapping[str, Any]) -> Table:
    """The table of batches with the release's rows: from which memory on the engine fills in other numbers."""
    if not facts.get("batches"):
        return table
    steps: list[dict[str, int]] = []
    for each in facts["batches"]:
        if not steps or (each["tokens"], each["requests"]) != (steps[-1]["tokens"], steps[-1]["requests"]):
            steps.append(each)
    return {**table, "releases": dict(sorted({**table["releases"], facts["version"]: steps}.items(), key=_by_version))}


def _by_version(item: tuple[str, Any]) -> Version:
    return Version.parse(item[0])
