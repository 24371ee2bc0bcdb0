"""Flags with objects that a field of the spec and the user's own flags both write. Pure.

The engine takes the last of two such flags, so both are rendered as one.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from specdec_engine import command_line
from specdec_engine.case import Json
from specdec_engine.flags import option
from specdec_engine.tables import table
from specdec_engine.version import Build
from specdec_operator.errors import Invalid

MERGED: Final = ("additional_config", "kv_transfer_config", "compilation_config")
"""The flags, by their Python names, whose objects are merged."""
_ARGS: Final = "spec.engine.args"


def merged(name: str, ours: Json, users: Any) -> dict[str, Any]:
    """Both objects as one. Raises Invalid for a key that both set, and for a user's value that is not an object."""
    if not isinstance(users, Mapping):
        raise Invalid(_ARGS, option(name), "the operator renders this flag from the spec; write an object to add to it")
    return _joined(ours, users, option(name))


def _joined(ours: Json, users: Json, path: str) -> dict[str, Any]:
    made = dict(users)
    for key, value in ours.items():
        where, given = f"{path}.{key}", users.get(key)
        if isinstance(value, Mapping) and isinstance(given, Mapping):
            made[key] = _joined(value, given, where)
        elif key in users:
            raise Invalid(_ARGS, where, "a field of the spec and this flag both set the key; keep one of them")
        else:
            made[key] = value
    return made


def without(args: Sequence[str], name: str, build: Build) -> list[str] | None:
    """The user's flags without one of them; None if it cannot be taken out of them.

    It cannot if other flags would change with it, or if Kubernetes inserts a value into it: the operator renders the
    flag itself then, as plain text.
    """
    kept = list(_kept(args, name))
    before, after = (dict(command_line.read(words, build).args) for words in (args, kept))
    before.pop(name, None)
    gone = " ".join(args).count("$(") - " ".join(kept).count("$(")
    return kept if before == after and not gone else None


def _kept(args: Sequence[str], name: str) -> Iterator[str]:
    of_flag = False
    for word in args:
        if of_flag and not word.startswith("-"):
            of_flag = False
            continue
        of_flag = word.startswith("-") and _names(word.partition("=")[0], name)
        if of_flag:
            of_flag = "=" not in word
            continue
        yield word


def _names(head: str, name: str) -> bool:
    """Whether a word begins a flag: by its long name or the beginning of it, by its short one, or with a dotted key."""
    bare = head.lstrip("-").partition(".")[0]
    if not head.startswith("--") and table("flags")["short"].get(bare) == name:
        return True
    return len(bare) > 1 and name.startswith(bare.replace("-", "_"))
