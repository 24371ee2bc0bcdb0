"""Flags without effect in a service, so that none disappears without a line."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, Final

from specdec_command.importing.manifest import Lost, Replaced
from specdec_engine.case import Json
from specdec_engine.flags import option
from specdec_operator.observe.pods import ENGINE_PORT

_EVERYWHERE: Final = ("0.0.0.0", "::", "", None)  # noqa: S104 - a value of a flag
_END: Final = "--"


def placed(args: Json) -> Iterator[Replaced]:
    """Flags for the address of the server."""
    if str(port := args.get("port", ENGINE_PORT)) != str(ENGINE_PORT):
        yield Replaced(field=f"--port={port}", by=f"the operator's runtime listens on {ENGINE_PORT}")
    if (host := args.get("host")) not in _EVERYWHERE:
        yield Replaced(field=f"--host={host}", by="the operator's runtime listens on all addresses")


def without_empty(words: Sequence[str], args: dict[str, Any]) -> Iterator[Lost]:
    """Takes out flags with an empty value, and yields them: the engine refuses them, or uses its default."""
    for word, value in pairwise((*words, _END)):
        flag, equals, text = word.partition("=")
        name = flag.lstrip("-").replace("-", "_")
        if not word.startswith("-") or text or (not equals and value != ""):
            continue
        if args.get(name) in (None, "", [""]):
            args.pop(name, None)
            way_out = "add it with a value to the service, or remove it"
            yield Lost(field=f'{option(name)} ""', why="the flag has an empty value", way_out=way_out)
