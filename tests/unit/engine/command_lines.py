"""How the engine comes to read its command line: Kubernetes puts variables in, then argparse takes beginnings of names.

The flags are those of the table, of any release at once; underscores and dotted keys are read as vLLM's parser does.
"""

import argparse
import functools
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from specdec_engine.tables import cell_words, table

_VARIABLE = re.compile(r"\$(\$|\((\w+)\))")
POSITIONAL = "model_tag"


class NotRead(Exception):
    """The engine would not start with this line."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> Any:
        """Raises NotRead."""
        raise NotRead(message)


class _Keep(argparse.Action):
    def __call__(self, parser: object, namespace: argparse.Namespace, values: Any, option: object = None) -> None:
        del parser, option
        if values not in (None, []) or self.option_strings:
            namespace.kept[self.dest].append(values)


def expand(word: str, variables: Mapping[str, str]) -> str:
    """What Kubernetes makes of an argument: `$$` is `$`, and of a variable that it does not know nothing changes."""
    return _VARIABLE.sub(lambda m: "$" if m[1] == "$" else variables.get(m[2], m[0]), word)


def read(line: Iterable[str]) -> dict[str, list[Any]]:
    """Every value that each flag is given, by the flag's Python name. Raises NotRead."""
    kept: dict[str, list[Any]] = defaultdict(list)
    _parser().parse_args([_plain(each) for each in line], argparse.Namespace(kept=kept))
    return dict(kept)


def _plain(word: str) -> str:
    """Dashes for underscores, and the whole flag for a dotted one."""
    head, equals, tail = word.partition("=")
    if not word.startswith("-"):
        return word
    flag, dot, _ = head.partition(".")
    flag = flag.replace("_", "-") if flag.startswith("--") else flag
    return f"{flag}={{}}" if dot else f"{flag}{equals}{tail}"


@functools.cache
def _parser() -> _Parser:
    parser, flags = _Parser(add_help=False), table("flags")
    kinds = {name: kind for kind, names in flags["kinds"].items() for name in cell_words(names)}
    shorts: dict[str, list[str]] = defaultdict(list)
    for short, name in flags["short"].items():
        shorts[name].append(f"-{short}")
    parser.add_argument(POSITIONAL, nargs="?", action=_Keep)
    for name in sorted({each for cell in flags["flags"].values() for each in cell_words(cell)}):
        long, kind = name.replace("_", "-"), kinds.get(name, "str")
        spelled = [*shorts[name], f"--{long}", *([f"--no-{long}"] if kind == "bool" else [])]
        arity: Any = {"bool": 0, "list": "+"}.get("list" if name == "served_model_name" else kind)
        parser.add_argument(*spelled, dest=name, nargs=arity, action=_Keep)
    return parser
