"""The vLLM flags of a service, plain, in a fixed order, so that equal wishes render equally."""

import json
from collections.abc import Sequence
from typing import Any

from specdec_operator.engine.asked import Asked
from specdec_operator.engine.case import Json


def speculative_config(config: Json) -> str:
    """The value of --speculative-config: JSON with sorted keys."""
    return _json(config)


def arguments(asked: Asked, *, served_name: str, target_path: str, extra: Sequence[str]) -> tuple[str, ...]:
    """All flags but those of the runtime (--port); `extra` are the user's own, as they are.

    In the operator's own Kubernetes puts no variable: it could end a text of --speculative-config, and begin another.
    """
    flags = [f"--model={target_path}", f"--served-model-name={served_name}"]
    flags += [flag_text(name, value) for name, value in asked.flags.items()]
    guessing = asked.case.speculation
    config = [] if guessing is None else [f"--speculative-config={speculative_config(guessing)}"]
    return (*map(_literal, flags), *extra, *map(_literal, config))


def _literal(flag: str) -> str:
    """A flag as Kubernetes must be given it for its container to get just that."""
    return flag.replace("$", "$$")


def flag_text(name: str, value: Any) -> str:
    """A flag as it is written: `--max-num-seqs=8`, `--enforce-eager`, `--no-enable-prefix-caching`, objects as JSON."""
    flag = f"--{name.replace('_', '-')}"
    match value:
        case True:
            return flag
        case False:
            return f"--no-{flag.removeprefix('--')}"
        case float():
            return f"{flag}={value:g}"
        case dict() | list():
            return f"{flag}={_json(value)}"
        case _:
            return f"{flag}={value}"


def _json(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))
