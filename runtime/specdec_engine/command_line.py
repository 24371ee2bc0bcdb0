"""Reads the server's command line as the server does: long and short flags, dotted keys, three ways to speculate."""

import bisect
import functools
import json
import re
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from specdec_engine.case import Json
from specdec_engine.flags import kind, option
from specdec_engine.rule import Finding, at_flag, at_key, broken
from specdec_engine.tables import entries, in_release, releases, table
from specdec_engine.version import Build, Version

_HUMAN: Final = re.compile(r"([0-9]+(?:\.[0-9]+)?)([kKmMgGtT])")
_SCALE: Final = {"k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
_NUMBER: Final = re.compile(r"-[0-9.]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Flag:
    """One flag of a line.

    name: by its Python name; written: as it stands there. `fault`: the expected form, if the value cannot be read.
    short_known: whether the version has the short name that was used; true for long ones and where it is not known.
    """

    name: str
    written: str
    value: Any
    fault: str = ""
    short_known: bool = True


def _flags(line: Sequence[str], version: Version, strays: list[str]) -> tuple[Flag, ...]:
    """The flags in their order. Dotted ones come last, gathered into objects. Other words go to `strays`."""
    plain: list[Flag] = []
    dotted: dict[str, dict[str, Any]] = {}
    rest = deque(line)
    while rest:
        word = rest.popleft()
        if not word.startswith("-") or _NUMBER.fullmatch(word):
            strays.append(word)
            continue
        if (level := _level(word, rest, version)) is not None:
            plain.append(level)
            continue
        head, equals, tail = word.partition("=")
        if "." in head:
            text = tail if equals else (rest.popleft() if rest else "")
            path = head.lstrip("-").removesuffix("+").split(".")
            value = text.split(",") if head.endswith("+") else _json(text)
            _put(dotted.setdefault(_long(path[0]), {}), path[1:], value)
        else:
            plain.append(_flag(head, tail if equals else None, rest, version))
    return (*plain, *(Flag(name=name, written=f"--{name}", value=value) for name, value in dotted.items()))


def _level(word: str, rest: deque[str], version: Version) -> Flag | None:
    """-O3, -O=3 and -O 3 as the server takes them; None for every other word, such as -O.mode=3."""
    apart = word == "-O" and bool(rest) and rest[0] in _LEVELS
    if not apart and (not word.startswith("-O") or word[2:3] in ("", ".")):
        return None
    text = rest.popleft() if apart else word[2:].removeprefix("=")
    if in_release("flags", "flags", "optimization_level", version):
        return _valued(Flag(name="optimization_level", written="-O", value=None), kind("optimization_level"), text)
    value = int(text) if text in _LEVELS else text
    return Flag(name="compilation_config", written="-O", value={"level": value})


def _long(written: str) -> str:
    return str(table("flags")["short"].get(written, written.replace("-", "_")))


def _flag(head: str, tail: str | None, rest: deque[str], version: Version) -> Flag:
    bare = head.lstrip("-")
    short = not head.startswith("--") and bare in table("flags")["short"]
    name = _long(bare) if short else _in_full(bare.replace("-", "_"), version)
    off = name.startswith("no_") and bool(releases("flags", "flags", name.removeprefix("no_")))
    name = name.removeprefix("no_") if off else name
    flag = Flag(
        name=name,
        written=head,
        value=None,
        short_known=not short or in_release("flags", "short_in", bare, version) is not False,
    )
    wanted = kind(name)
    if wanted == "bool" or off:
        fault = "no value, because it is a switch" if tail is not None else ""
        return replace(flag, value=not off, fault=fault)
    if wanted == "list":
        return replace(flag, value=[tail] if tail is not None else list(_following(rest)))
    if tail is None and (not rest or _is_flag(rest[0])):
        return replace(flag, value=None, fault="a value") if wanted else replace(flag, value=True)
    return _valued(flag, wanted, tail if tail is not None else rest.popleft())


@functools.lru_cache(maxsize=4096)
def _in_full(name: str, version: Version) -> str:
    """The flag that a long name begins, if the version has exactly one; else the name itself. So does argparse."""
    if releases("flags", "flags", name):
        return name
    every = _names(version)
    at = bisect.bisect_left(every, name)
    found = [each for each in every[at : at + 2] if each.startswith(name)]
    return found[0] if name and len(found) == 1 else name


@functools.lru_cache(maxsize=64)
def _names(version: Version) -> tuple[str, ...]:
    """The long names of a version in their order, those that turn a switch off too."""
    names = entries("flags", "flags", version)
    return tuple(sorted([*names, *(f"no_{each}" for each in names if kind(each) == "bool")]))


def _following(rest: deque[str]) -> Iterator[str]:
    while rest and not _is_flag(rest[0]):
        yield rest.popleft()


def _is_flag(word: str) -> bool:
    return word.startswith("-") and not _NUMBER.fullmatch(word) and " " not in word


def _valued(flag: Flag, kind: str, text: str) -> Flag:
    reader, wanted = _READERS.get(kind, (str, ""))
    if flag.name == "speculative_config" or not wanted:
        return replace(flag, value=text)
    if text in ("", "None") or (flag.name, text) in _OWN_CHOICE:
        return replace(flag, value=None)
    try:
        return replace(flag, value=reader(text))
    except (ValueError, RecursionError):
        return replace(flag, value=text, fault=wanted)


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


_OWN_CHOICE: Final = (("max_model_len", "auto"), ("max_model_len", "-1"))
"""Values with which the engine chooses by itself, as it does without the flag."""
_LEVELS: Final = ("0", "1", "2", "3")
_READERS: Final[dict[str, tuple[Callable[[str], Any], str]]] = {
    "int": (_integer, "a whole number"),
    "float": (float, "a number"),
    "json": (json.loads, "JSON"),
}
"""By the kind of flag: what reads its value, and what it wants."""
_FIELD: Final = "args.speculative_config"
_SPEC_FLAGS: Final = {"spec_method": "method", "spec_model": "model", "spec_tokens": "num_speculative_tokens"}


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandLine:
    """A command line, read.

    args: the flags by their Python names, without those about speculation.
    speculation: the object that the engine is given; None where it serves plainly, or the object cannot be read.
    findings: what is wrong with the line itself; the rest is `check`'s.
    """

    args: Json
    speculation: Json | None
    findings: tuple[Finding, ...]


def read(line: Sequence[str], build: Build) -> CommandLine:
    """Reads the words behind `vllm serve`, or the whole line. Never raises."""
    findings: list[Finding] = []
    args: dict[str, Any] = {}
    speculative: Flag | None = None
    for flag in _flags(line[list(line).index("serve") + 1 :] if "serve" in line[:3] else line, build.vllm, []):
        if not flag.short_known:
            findings.append(at_flag("ARG-SHORT", flag.name, flag.written, f"{build} has no {flag.written}"))
        if flag.name == "speculative_config":
            speculative = flag
        elif flag.fault:
            findings.append(at_flag("ARG-VALUE", flag.name, flag.value, f"{flag.written} wants {flag.fault}"))
        else:
            args[flag.name] = flag.value
    speculation = _speculation(speculative.value, findings) if speculative else None
    speculation = _with_spec_flags(speculation, args, findings)
    return CommandLine(
        args=args, speculation=speculation, findings=tuple(each for each in findings if each.rule.holds(build))
    )


def stray_words(line: Sequence[str], build: Build) -> tuple[str, ...]:
    """The words that are not flags and not their values: `vllm serve` takes the first for the model."""
    strays: list[str] = []
    _flags(line, build.vllm, strays)
    return tuple(strays)


def _speculation(text: Any, findings: list[Finding]) -> Json | None:
    """The value of --speculative-config."""
    if isinstance(text, dict):
        return text
    if not isinstance(text, str) or text in ("", "None"):
        findings.append(broken("JSON-OFF", _FIELD, text, "write a JSON object, or remove the flag"))
        return None
    twice: list[str] = []
    try:
        value = json.loads(text, object_pairs_hook=lambda pairs: _object(pairs, twice))
    except (ValueError, RecursionError) as error:
        findings.append(broken("JSON-SYNTAX", _FIELD, text, f"--speculative-config is not JSON: {error}"))
        return None
    findings += (at_key("JSON-TWICE", key, None, f"{key} is duplicated") for key in twice)
    if value is None:
        findings.append(broken("JSON-OFF", _FIELD, text, "write a JSON object, or remove the flag"))
    elif not isinstance(value, dict):
        findings.append(broken("JSON-OBJECT", _FIELD, value, "write a JSON object: {...}"))
    return value if isinstance(value, dict) else None


def _object(pairs: list[tuple[str, Any]], twice: list[str]) -> dict[str, Any]:
    made = dict(pairs)
    names = [key for key, _ in pairs]
    twice += (key for key in made if names.count(key) > 1)
    return made


def _with_spec_flags(speculation: Json | None, args: dict[str, Any], findings: list[Finding]) -> Json | None:
    """Adds the three flags to the object, and takes them out of the plain flags."""
    merged = dict(speculation or {})
    given = [(name, key) for name, key in _SPEC_FLAGS.items() if name in args]
    for name, key in given:
        flag, value = option(name), args.pop(name)
        findings.append(
            at_flag("SPEC-FLAGS-SINCE", name, value, f"set {key} in --speculative-config instead of {flag}")
        )
        if key in merged:
            findings.append(
                at_flag("SPEC-FLAGS-BOTH", name, value, f"{flag} and {key} in --speculative-config: keep only one")
            )
        merged[key] = value
    return merged if given or speculation is not None else None
