"""The server's own flags: which a version has, and which values they take."""

from collections.abc import Iterator
from typing import Any, Final

from specdec_operator.engine import lax
from specdec_operator.engine.rule import Finding
from specdec_operator.engine.rules.making import refused, shown
from specdec_operator.engine.settled import Settled
from specdec_operator.engine.tables import entries, known, table, words

UNKNOWN: Final = refused(
    "FLAG-UNKNOWN", "The server does not start with a flag that its version does not have.", "engine/arg_utils.py"
)
VALUE: Final = refused("FLAG-VALUE", "Flags must have values of their type and choice.", "engine/arg_utils.py")
ROLE: Final = refused(
    "TRANSFER-ROLE",
    "A connector for KV or encoder caches needs its role.",
    "config/kv_transfer.py, config/ec_transfer.py",
)

RULES: Final = (UNKNOWN, VALUE, ROLE)

_NOT_FLAGS: Final = frozenset(("model", "speculative_config"))
_KINDS: Final = ("bool", "int", "float", "json", "list")


def check(settled: Settled) -> Iterator[Finding]:
    """What the server's argument parser reports."""
    for name, value in settled.case.args.items():
        if name in _NOT_FLAGS or value is None:
            continue
        if known("flags", "flags", name, settled.version) is False:
            message = f"{settled.case.build} has no --{name.replace('_', '-')}"
            yield UNKNOWN.broken(f"args.{name}", value, message)
        else:
            yield from _valued(name, value, settled)
    yield from _roles(settled)


def _valued(name: str, value: Any, settled: Settled) -> Iterator[Finding]:
    wanted = _wanted(name, value)
    if wanted:
        yield VALUE.broken(f"args.{name}", value, f"--{name.replace('_', '-')} wants {wanted}")
        return
    if name == "attention_backend":
        yield from _backend(value, settled)
    choices = table("flags")["values"]
    inside = value if isinstance(value, dict) else {}
    for path in (name, *(f"{name}.{key}" for key in inside)):
        chosen = value if path == name else inside[path.split(".", 1)[1]]
        if path not in choices or not isinstance(chosen, str):
            continue
        if known("flags", f"values/{path}", chosen, settled.version) is False:
            allowed = ", ".join(entries("flags", f"values/{path}", settled.version))
            yield VALUE.broken(
                f"args.{path}", chosen, f"{path} is {shown(chosen)}; {settled.case.build} takes {allowed}"
            )


def _backend(value: Any, settled: Settled) -> Iterator[Finding]:
    """The target's attention backend, which is named without regard to case."""
    named = value.upper() if isinstance(value, str) else ""
    if named != "AUTO" and known("values", "attention_backend", named, settled.version) is False:
        allowed = ", ".join(entries("values", "attention_backend", settled.version))
        yield VALUE.broken("args.attention_backend", value, f"--attention-backend takes auto, {allowed}")


def _wanted(name: str, value: Any) -> str:
    """What the flag wants instead; empty where the value fits or nothing is known of the flag."""
    kind = next((kind for kind in _KINDS if name in words(table("flags")["kinds"][kind])), "")
    if kind == "json":
        return "" if isinstance(value, dict) else "an object"
    if kind == "list":
        return "" if isinstance(value, list | tuple | str) else "a list"
    if kind not in lax.READERS or (kind == "bool" and isinstance(value, bool)):
        return ""
    try:
        lax.READERS[kind](value)
    except ValueError as wanted:
        return str(wanted)
    return ""


def _roles(settled: Settled) -> Iterator[Finding]:
    for name, kind in (("kv_transfer_config", "kv"), ("ec_transfer_config", "ec")):
        value = settled.case.args.get(name)
        if isinstance(value, dict) and value.get(f"{kind}_connector") and value.get(f"{kind}_role") is None:
            yield ROLE.broken(f"args.{name}", value, f"{name} names a connector; add {kind}_role")
