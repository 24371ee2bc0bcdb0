"""vLLM's flags: how one is written, and what kind of value it has by the tables."""

import functools
import json
from typing import Any

from specdec_engine.tables import cell_words, table


def option(name: str) -> str:
    """A flag by its Python name as it is written: `--max-num-seqs`."""
    return f"--{name.replace('_', '-')}"


def kind(name: str) -> str:
    """The kind of a flag's value by the table: bool, int, float, json or list; empty if the table does not have the
    flag.
    """
    return _kinds().get(name, "")


@functools.cache
def _kinds() -> dict[str, str]:
    return {name: kind for kind, names in table("flags")["kinds"].items() for name in cell_words(names)}


def flag_text(name: str, value: Any) -> str:
    """A flag as it is written: `--max-num-seqs=8`, `--enforce-eager`, `--no-enable-prefix-caching`, objects as JSON."""
    flag = option(name)
    match value:
        case True:
            return flag
        case False:
            return f"--no-{flag.removeprefix('--')}"
        case float():
            return f"{flag}={value:g}"
        case dict() | list():
            return f"{flag}={compact(value)}"
        case _:
            return f"{flag}={value}"


def compact(value: Any) -> str:
    """JSON with sorted keys and no blanks, so that equal requests render equally."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))
