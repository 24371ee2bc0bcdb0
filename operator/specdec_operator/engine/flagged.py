"""Splits a command line into flags with values, by the table of the server's flags."""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from specdec_operator.engine import lax
from specdec_operator.engine.tables import known, table, words
from specdec_operator.engine.version import Version

_HUMAN: Final = re.compile(r"([0-9]+(?:\.[0-9]+)?)([kKmMgGtT])")
_SCALE: Final = {"k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
_NUMBER: Final = re.compile(r"-[0-9.]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Flag:
    """One flag of a line.

    name: by its Python name; written: as it stands there. `fault` says what is wanted where the value cannot be read.
    short_known: whether the version has the short name that was used; true for long ones and where it is not known.
    """

    name: str
    written: str
    value: Any
    fault: str = ""
    short_known: bool = True


def gather(line: Sequence[str], version: Version) -> tuple[Flag, ...]:
    """The flags in their order; dotted ones come last, gathered into objects. Words that are no flags are left out."""
    plain: list[Flag] = []
    dotted: dict[str, dict[str, Any]] = {}
    rest = list(line)
    while rest:
        word = rest.pop(0)
        if not word.startswith("-") or _NUMBER.fullmatch(word):
            continue
        head, equals, tail = word.partition("=")
        if "." in head:
            text = tail if equals else (rest.pop(0) if rest else "")
            path = head.lstrip("-").removesuffix("+").split(".")
            _put(
                dotted.setdefault(_long(path[0]), {}), path[1:], text.split(",") if head.endswith("+") else _json(text)
            )
        else:
            plain.append(_flag(head, tail if equals else None, rest, version))
    return (*plain, *(Flag(name=name, written=f"--{name}", value=value) for name, value in dotted.items()))


def _long(written: str) -> str:
    plain = written.replace("-", "_")
    return str(table("flags")["short"].get(written, plain))


def _flag(head: str, tail: str | None, rest: list[str], version: Version) -> Flag:
    bare = head.lstrip("-")
    short = not head.startswith("--") and bare in table("flags")["short"]
    name = _long(bare) if short else bare.replace("-", "_")
    off = name.startswith("no_") and not _listed(name, version)
    name = name.removeprefix("no_") if off else name
    found = Flag(
        name=name,
        written=head,
        value=None,
        short_known=not short or known("flags", "short_in", bare, version) is not False,
    )
    kind = _kind(name)
    if kind == "bool" or off:
        fault = "no value: it is a switch" if tail is not None else ""
        return replace(found, value=not off, fault=fault)
    if kind == "list":
        return replace(found, value=[tail] if tail is not None else list(_following(rest)))
    if tail is None and (not rest or _is_flag(rest[0])):
        return replace(found, value=True if kind == "" else None, fault="" if kind == "" else "a value")
    return _valued(found, kind, tail if tail is not None else rest.pop(0))


def _listed(name: str, version: Version) -> bool:
    return known("flags", "flags", name, version) is not False


def _kind(name: str) -> str:
    """What the table says of a flag's value; empty where it says nothing."""
    return next((kind for kind, names in table("flags")["kinds"].items() if name in words(names)), "")


def _following(rest: list[str]) -> Iterator[str]:
    while rest and not _is_flag(rest[0]):
        yield rest.pop(0)


def _is_flag(word: str) -> bool:
    return word.startswith("-") and not _NUMBER.fullmatch(word) and " " not in word


def _valued(flag: Flag, kind: str, text: str) -> Flag:
    if flag.name == "speculative_config":
        return replace(flag, value=text)
    if text in ("", "None") and kind in ("int", "float", "json"):
        return replace(flag, value=None)
    try:
        return replace(flag, value=_READ.get(kind, lax.text)(text))
    except (ValueError, RecursionError):
        return replace(flag, value=text, fault=_WANTED.get(kind, "another value"))


def _integer(text: str) -> int:
    if human := _HUMAN.fullmatch(text):
        return int(float(human[1]) * _SCALE[human[2]])
    return int(text)


def _json(text: str) -> Any:
    """JSON where it is JSON, else the text itself."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _put(holder: dict[str, Any], path: list[str], value: Any) -> None:
    for step in path[:-1]:
        inner = holder.setdefault(step, {})
        if not isinstance(inner, dict):
            inner = holder[step] = {}
        holder = inner
    if path:
        holder[path[-1]] = value


_READ: Final[dict[str, Callable[[str], Any]]] = {"int": _integer, "float": float, "json": json.loads}
_WANTED: Final = {"int": "a whole number", "float": "a number", "json": "JSON"}
