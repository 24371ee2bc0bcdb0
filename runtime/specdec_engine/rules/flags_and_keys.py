"""Which versions are known, and which flags, keys and values each of them takes."""

import json
import re
from collections.abc import Iterator
from difflib import get_close_matches
from typing import Any, Final

from specdec_engine import coercion
from specdec_engine.flags import kind, option
from specdec_engine.resolve import Resolved
from specdec_engine.rule import Finding, at_flag, at_key, broken, shown
from specdec_engine.speculative_config import Misread
from specdec_engine.tables import entries, in_release, releases, row_holds, table
from specdec_engine.version import NEWEST, OLDEST, Version, holds

FIRST: Final = Version(*OLDEST)
LAST: Final = Version(*NEWEST)


def versions(resolved: Resolved) -> Iterator[Finding]:
    """Whether the version lies in the range."""
    build = resolved.case.build
    if resolved.version < FIRST:
        yield broken("VERSION-OLD", "build", str(build), f"{build} is not supported; use {FIRST} or later")
    elif (resolved.version.major, resolved.version.minor) > NEWEST:
        yield broken(
            "VERSION-NEW",
            "build",
            str(build),
            f"{build} is newer than this release, so its new features are not checked",
        )


_NOT_FLAGS: Final = frozenset(("model", "speculative_config"))


def flags(resolved: Resolved) -> Iterator[Finding]:
    """What the server's argument parser reports."""
    for name, value in resolved.case.args.items():
        if name in _NOT_FLAGS or value is None:
            continue
        known = in_release("flags", "flags", name, resolved.version)
        if known is False:
            yield at_flag("FLAG-UNKNOWN", name, value, _no_flag(name, resolved))
        elif known is None and not releases("flags", "flags", name):
            message = (
                f"no release up to {LAST} has {option(name)}{_instead(name)}; check that {resolved.case.build} has it"
            )
            yield at_flag("FLAG-UNREAD", name, value, message)
        else:
            yield from _valued(name, value, resolved)
    yield from _roles(resolved)


def _no_flag(name: str, resolved: Resolved) -> str:
    """That a version does not have a flag, and which versions have it, or a flag with a similar name."""
    has = [each for each in releases("flags", "flags", name) if each != resolved.version]
    if not has:
        return f"{resolved.case.build} has no {option(name)}{_instead(name)}, so the server would not start; remove it"
    where = f"it was added in {has[0]}" if has[0] > resolved.version else f"it was last in {has[-1]}"
    return f"{resolved.case.build} has no {option(name)}; of the known releases, {where}; remove it"


def _instead(name: str) -> str:
    alike = get_close_matches(name, entries("flags", "flags", LAST), 1, 0.8)
    return f", but {option(alike[0])}" if alike else ""


def _valued(name: str, value: Any, resolved: Resolved) -> Iterator[Finding]:
    wanted = _wanted(name, value)
    if wanted:
        yield at_flag("FLAG-VALUE", name, value, f"{option(name)} must be {wanted}")
        return
    if name == "attention_backend":
        yield from _backend(value, resolved)
    if name == "compilation_config":
        yield from _graphs(value.get("cudagraph_mode"), resolved)
    choices = table("flags")["values"]
    inside = value if isinstance(value, dict) else {}
    for path in (name, *(f"{name}.{key}" for key in inside)):
        chosen = value if path == name else inside[path.split(".", 1)[1]]
        if path not in choices or not isinstance(chosen, str):
            continue
        if in_release("flags", f"values/{path}", chosen, resolved.version) is False:
            allowed = ", ".join(entries("flags", f"values/{path}", resolved.version))
            yield at_flag(
                "FLAG-VALUE", path, chosen, f"{path} is {shown(chosen)}; {resolved.case.build} takes {allowed}"
            )


def _graphs(value: Any, resolved: Resolved) -> Iterator[Finding]:
    """The mode of graphs, which is named without regard to case."""
    if isinstance(value, str) and in_release("values", "cudagraph_mode", value.upper(), resolved.version) is False:
        allowed = ", ".join(entries("values", "cudagraph_mode", resolved.version))
        yield at_flag("FLAG-VALUE", "compilation_config.cudagraph_mode", value, f"cudagraph_mode takes {allowed}")


def _backend(value: Any, resolved: Resolved) -> Iterator[Finding]:
    """The target's attention backend, which is named without regard to case."""
    named = value.upper() if isinstance(value, str) else ""
    if named != "AUTO" and in_release("values", "attention_backend", named, resolved.version) is False:
        allowed = ", ".join(entries("values", "attention_backend", resolved.version))
        yield at_flag("FLAG-VALUE", "attention_backend", value, f"--attention-backend takes auto, {allowed}")


def _wanted(name: str, value: Any) -> str:
    """What the flag wants instead; empty where the value fits or nothing is known of the flag."""
    match kind(name):
        case "json":
            return "" if isinstance(value, dict) else "an object"
        case "list":
            return "" if isinstance(value, list | tuple | str) else "a list"
        case "bool" | "int" | "float" as type_name:
            try:
                coercion.READERS[type_name](value)
            except ValueError as wanted:
                return str(wanted)
    return ""


def _roles(resolved: Resolved) -> Iterator[Finding]:
    for what in ("kv", "ec"):
        name = f"{what}_transfer_config"
        if resolved.case.part(name, f"{what}_connector") and resolved.case.part(name, f"{what}_role") is None:
            message = f"{name} names a connector; add {what}_role"
            yield at_flag("TRANSFER-ROLE", name, resolved.case.args[name], message)


_LAST_COMMA: Final = re.compile(r",\s*\]")
_DEAD: Final = "disable_by_batch_size"
_BY_LOAD: Final = (
    "remove it; 0.24 and later draft fewer tokens under load with tokensByBatchSize, also none (tokens: 0)"
)
_INTERNAL_KEYS: Final = ("target_model_config", "target_parallel_config", "draft_parallel_config")


def keys(resolved: Resolved) -> Iterator[Finding]:
    """What the engine's type checks report."""
    for key in resolved.reading.unknown:
        rule = "KEY-UNKNOWN" if resolved.at_least("0.16") else "KEY-DROPPED"
        yield at_key(rule, key, (resolved.case.speculation or {}).get(key), _unknown(key, resolved))
    for each in resolved.reading.misread:
        yield _misread(each, resolved)
    yield from _odd(resolved)


def _unknown(key: str, resolved: Resolved) -> str:
    plain, fields = key.replace("-", "_").lower(), table("fields")["fields"]
    since, until = (fields.get(plain, {}).get(end, "") for end in ("since", "until"))
    unknown = f"{resolved.case.build} has no key {shown(key)}"
    if plain != key and plain in fields:
        return f"{unknown}; write {shown(plain)}"
    if until and not holds(resolved.version, "", until):
        return f"{unknown} any more; it was last in {until}" + (f"; {_BY_LOAD}" if plain == _DEAD else "")
    return f"{unknown}; it was added in {since}" if since else f"{unknown}; remove it"


def _misread(each: Misread, resolved: Resolved) -> Finding:
    if each.key == "method":
        return at_key("METHOD-UNKNOWN", each.key, each.value, _method(each.value, resolved))
    rule = "K-TYPE" if each.key == "num_speculative_tokens" else "VALUE-TYPE"
    return at_key(rule, each.key, each.value, f"{each.key} is {shown(each.value)}; it must be {each.wanted}")


def _method(value: object, resolved: Resolved) -> str:
    methods, lacks = table("methods")["methods"], f"{resolved.case.build} has no method {shown(value)}"
    row = methods.get(value) if isinstance(value, str) else None
    if row is None:
        has = (word for word, row in methods.items() if row_holds(row, resolved.version) and "alias_of" not in row)
        known = sorted(has)
        near = get_close_matches(str(value), known, 1)
        hint = f"did you mean {near[0]}? " if near else ""
        return f"{lacks}; {hint}it has {', '.join(known)}"
    if not resolved.at_least(row.get("since", "")):
        return f"{lacks}; it was added in {row['since']}"
    return f"{lacks} any more; it was last in {row['until']}"


def _odd(resolved: Resolved) -> Iterator[Finding]:
    """What the engine takes and does not do what it looks like."""
    config = resolved.case.speculation or {}
    for key in _INTERNAL_KEYS:
        if resolved.value(key) is not None:
            yield at_key("KEY-INTERNAL", key, resolved.value(key), f"remove {key}: the engine overwrites it")
    plain = [key.replace("-", "_") for key in config]
    if resolved.at_least("0.28"):
        for key in sorted({key for key in plain if plain.count(key) > 1}):
            message = f"{key} is written twice, with dashes and with underscores"
            yield at_key("KEY-TWICE", key, config.get(key), message)
    if (value := resolved.value(_DEAD)) is not None:
        yield at_key("KEY-DEAD", _DEAD, value, f"{resolved.case.build} does not read {_DEAD}; {_BY_LOAD}")
    if (value := resolved.value("tensor_parallel_size")) is not None:
        yield at_key("KEY-TENSOR-PARALLEL", "tensor_parallel_size", value, "use draft_tensor_parallel_size")
    tree = resolved.value("speculative_token_tree")
    if tree is not None and resolved.opens is not None and not _is_tree(tree):
        yield at_key("TOKEN-TREE", "speculative_token_tree", tree, "write it as [(0,), (0, 0)], or remove it")
    for key, value in config.items():
        if isinstance(value, str) and isinstance(resolved.value(key), bool | int | float):
            yield at_key("VALUE-LOOSE", key, value, f"{key} is a string; write {json.dumps(resolved.value(key))}")


def _is_tree(text: str) -> bool:
    """Whether it is a list of tuples, or of lists, as Python writes them."""
    try:
        tree = json.loads(_LAST_COMMA.sub("]", text.replace("(", "[").replace(")", "]")))
    except (ValueError, RecursionError):
        return False
    return isinstance(tree, list) and all(isinstance(branch, list) for branch in tree)
