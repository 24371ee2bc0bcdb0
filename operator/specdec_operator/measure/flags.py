"""Two commands, flag by flag: what else differs than speculation."""

import re
from collections.abc import Sequence
from typing import Final

SPECULATION: Final = "--speculative-config"
_SECRET: Final = re.compile(r"TOKEN|SECRET|PASSW|CREDENTIAL|(^|_|-)(API_?)?KEY($|_|-)", re.IGNORECASE)


def differences(speculating: Sequence[str], plain: Sequence[str]) -> tuple[str, ...]:
    """What differs between two commands besides the flag of speculation, one sentence each."""
    left, right = _flags(speculating), _flags(plain)
    names = [
        name for name in dict.fromkeys((*left, *right)) if name != SPECULATION and left.get(name) != right.get(name)
    ]
    return tuple(f"{name}: {_said(left, name)} with speculation, {_said(right, name)} plain" for name in names)


def environment(env: Sequence[dict[str, object]]) -> tuple[str, ...]:
    """A container's variables as NAME=value. Values that come from elsewhere, or look like secrets, are not told."""
    return tuple(f"{each['name']}={_value(each)}" for each in env)


def _value(variable: dict[str, object]) -> str:
    if "valueFrom" in variable:
        return "(from elsewhere)"
    return "(not told)" if _SECRET.search(str(variable["name"])) else str(variable.get("value", ""))


def _flags(words: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Values by flag, in the order in which they come; words before the first flag are under the empty name."""
    found: dict[str, tuple[str, ...]] = {}
    name = ""
    for word in words:
        if word.startswith("-"):
            name, separator, value = word.partition("=")
            found[name] = (*found.get(name, ()), *([value] if separator else []))
        else:
            found[name] = (*found.get(name, ()), word)
    return found


def _said(flags: dict[str, tuple[str, ...]], name: str) -> str:
    if name not in flags:
        return "not set"
    return " ".join(flags[name]) or "set"
