"""Keys and the types of their values, as the engine's own checks see them."""

import json
import re
from collections.abc import Iterator
from typing import Final

from specdec_operator.engine.reading import Misread, since
from specdec_operator.engine.rule import Finding
from specdec_operator.engine.rules.making import RECORDED, SPECULATIVE, refused, shown, stricter, warned
from specdec_operator.engine.settled import Settled
from specdec_operator.engine.tables import table
from specdec_operator.engine.version import holds

UNKNOWN: Final = refused(
    "KEY-UNKNOWN", "The engine does not start with a key that its version does not know.", SPECULATIVE, since="0.16"
)
DROPPED: Final = stricter(
    "KEY-DROPPED", "Up to 0.15 the engine drops unknown keys without a word.", RECORDED, until="0.15"
)
INTERNAL: Final = warned("KEY-INTERNAL", "Keys that the engine fills in itself have no effect when sent.", RECORDED)
TWICE: Final = stricter(
    "KEY-TWICE", "The same key with dashes and with underscores: the last one wins.", RECORDED, since="0.28"
)
TYPE: Final = refused("VALUE-TYPE", "Values must have the key's type and lie in its range.", SPECULATIVE)
LOOSE: Final = warned(
    "VALUE-LOOSE", "Numbers and switches written as strings work, and hide mistakes.", "pydantic's lax mode"
)
METHOD: Final = refused("METHOD-UNKNOWN", "The version must have the method.", SPECULATIVE)
MODEL_TYPE: Final = refused("K-TYPE", "The number of draft tokens must be a whole number above zero.", SPECULATIVE)
TRAP: Final = refused(
    "KEY-TENSOR-PARALLEL",
    "`tensor_parallel_size` is not the draft's; its key is `draft_tensor_parallel_size`.",
    SPECULATIVE,
    since="0.15",
)

TREE: Final = refused("TOKEN-TREE", "A token tree is a list of tuples of whole numbers.", SPECULATIVE, until="0.20")

RULES: Final = (UNKNOWN, DROPPED, INTERNAL, TWICE, METHOD, MODEL_TYPE, TYPE, LOOSE, TRAP, TREE)

_LAST_COMMA: Final = re.compile(r",\s*\]")
_INTERNAL_KEYS: Final = ("target_model_config", "target_parallel_config", "draft_parallel_config")


def check(settled: Settled) -> Iterator[Finding]:
    """What the engine's type checks report."""
    for key in settled.reading.strangers:
        rule = UNKNOWN if settled.at_least("0.16") else DROPPED
        yield rule.broken(_at(key), (settled.case.speculation or {}).get(key), _unknown(key, settled))
    for each in settled.reading.misread:
        yield _misread(each, settled)
    yield from _odd(settled)


def _at(key: str) -> str:
    return f"speculative_config.{key}"


def _unknown(key: str, settled: Settled) -> str:
    plain = key.replace("-", "_").lower()
    fields = table("fields")["fields"]
    until = fields.get(plain, {}).get("until", "")
    if plain != key and plain in fields:
        return f"{settled.case.build} does not know {shown(key)}; write {shown(plain)}"
    if until and not holds(settled.version, "", until):
        return f"{settled.case.build} does not know {shown(key)} any more; it was there up to {until}"
    if start := since(plain):
        return f"{settled.case.build} does not know {shown(key)}; it is there since {start}"
    return f"{settled.case.build} does not know {shown(key)}; remove it"


def _misread(each: Misread, settled: Settled) -> Finding:
    if each.key == "method":
        return METHOD.broken(_at(each.key), each.value, _method(each.value, settled))
    rule = MODEL_TYPE if each.key == "num_speculative_tokens" else TYPE
    return rule.broken(_at(each.key), each.value, f"{each.key} is {shown(each.value)}; the engine wants {each.wanted}")


def _method(value: object, settled: Settled) -> str:
    methods = table("methods")["methods"]
    here = [word for word, row in methods.items() if holds(settled.version, row.get("since", ""), row.get("until", ""))]
    plain = sorted(word for word in here if "alias_of" not in methods[word])
    row = methods.get(value) if isinstance(value, str) else None
    if row is not None and not holds(settled.version, row.get("since", "")):
        return f"{settled.case.build} has no method {shown(value)}; it is there since {row['since']}"
    if row is not None:
        return (
            f"{settled.case.build} has no method {shown(value)} any more; the last version with it was {row['until']}"
        )
    return f"{settled.case.build} has no method {shown(value)}; it has {', '.join(plain)}"


def _odd(settled: Settled) -> Iterator[Finding]:
    """What the engine takes and does not do what it looks like."""
    asked = settled.case.speculation or {}
    for key in _INTERNAL_KEYS:
        if settled.value(key) is not None:
            yield INTERNAL.broken(_at(key), settled.value(key), f"remove {key}: the engine overwrites it")
    plain = [key.replace("-", "_") for key in asked]
    if settled.at_least("0.28"):
        for key in sorted({key for key in plain if plain.count(key) > 1}):
            yield TWICE.broken(_at(key), asked.get(key), f"{key} is written twice, with dashes and with underscores")
    if settled.value("tensor_parallel_size") is not None:
        value = settled.value("tensor_parallel_size")
        yield TRAP.broken(_at("tensor_parallel_size"), value, "use draft_tensor_parallel_size")
    tree = settled.value("speculative_token_tree")
    if tree is not None and settled.opens is not None and not _is_tree(tree):
        yield TREE.broken(_at("speculative_token_tree"), tree, "write it as [(0,), (0, 0)], or remove it")
    for key, value in asked.items():
        if isinstance(value, str) and isinstance(settled.value(key), bool | int | float):
            yield LOOSE.broken(_at(key), value, f"{key} is a string; write {json.dumps(settled.value(key))}")


def _is_tree(text: str) -> bool:
    """Whether it is a list of tuples, or of lists, as Python writes them."""
    try:
        tree = json.loads(_LAST_COMMA.sub("]", text.replace("(", "[").replace(")", "]")))
    except (ValueError, RecursionError):
        return False
    return isinstance(tree, list) and all(isinstance(branch, list) for branch in tree)
