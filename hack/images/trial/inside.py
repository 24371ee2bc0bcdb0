"""What is asked inside the image: each question's answer is one line of JSON, the last on standard output.

python3 -m hack.images.trial.inside plugin
python3 -m hack.images.trial.inside configure nvidia|ascend CASES.json
"""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from hack.verdicts.pretend import pretend

if TYPE_CHECKING:
    from collections.abc import Callable

_MOST: Final = 600
_PLATFORM: Final = {"nvidia": "cuda", "ascend": "npu"}
_GROUP: Final = "vllm.general_plugins"


def plugin() -> dict[str, Any]:
    """Whether vLLM finds the project's plugins, and loads them."""
    entries = importlib.metadata.entry_points(group=_GROUP)
    ours = sorted(each.name for each in entries if each.value.startswith("specdec_runtime"))
    loaded = importlib.import_module("vllm.plugins").load_plugins_by_group(_GROUP)
    return {"found": ours, "loaded": sorted(set(loaded) & set(ours))}


def configure(kind: str, cases: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Have the engine make its whole configuration of each command line, on a pretended device."""
    pretend(_PLATFORM[kind])
    # Which class of a model can do what is asked in a process of its own; that one would see no device.
    registry: Any = importlib.import_module("vllm.model_executor.models.registry")
    registry._run_in_subprocess = lambda function: function()
    ask = _question()
    return [{"name": case["name"], **_apart(lambda words=case["flags"]: ask(words))} for case in cases]  # type: ignore[misc]


def _question() -> Callable[[list[str]], dict[str, Any]]:
    """vLLM's own way from a command line to a configuration."""
    parser_of = _first(
        ("vllm.entrypoints.common.cli_args", "vllm.entrypoints.launchers.cli_args", "vllm.entrypoints.openai.cli_args")
    )
    flexible: Any = importlib.import_module("vllm.utils.argparse_utils").FlexibleArgumentParser
    arguments: Any = importlib.import_module("vllm.engine.arg_utils").AsyncEngineArgs
    context: Any = importlib.import_module("vllm.usage.usage_lib").UsageContext.OPENAI_API_SERVER

    def ask(words: list[str]) -> dict[str, Any]:
        given = parser_of.make_arg_parser(flexible()).parse_args(words)
        parser_of.validate_parsed_serve_args(given)
        made = arguments.from_cli_args(given).create_engine_config(context)
        speculative = made.speculative_config
        return {
            "method": speculative.method if speculative else None,
            "tokens": speculative.num_speculative_tokens if speculative else None,
        }

    return ask


def _first(names: tuple[str, ...]) -> Any:
    """The first module that there is: vLLM has moved it twice."""
    for name in names:
        try:
            return importlib.import_module(name)
        except ModuleNotFoundError:
            continue
    raise ModuleNotFoundError(f"none of {', '.join(names)}")


def _apart(ask: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Ask in a fork, so that one answer leaves nothing for the next."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        try:
            answer = {"ok": True, **ask()}
        except BaseException as error:
            answer = {"ok": False, "error": f"{type(error).__name__}: {' '.join(str(error).split())[:_MOST]}"}
        with os.fdopen(writing, "w", encoding="utf-8") as pipe:
            json.dump(answer, pipe)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, encoding="utf-8") as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    found: dict[str, Any] = json.loads(text) if text else {"ok": False, "error": "the process ended without an answer"}
    return found


def main(words: list[str]) -> None:
    """Answer one question."""
    started = time.monotonic()
    match words:
        case ["plugin"]:
            answer: Any = plugin()
        case ["configure", kind, path]:
            answer = configure(kind, json.loads(Path(path).read_text(encoding="utf-8")))
        case _:
            raise SystemExit(__doc__)
    print(json.dumps({"seconds": round(time.monotonic() - started, 1), "answer": answer}))


if __name__ == "__main__":
    main(sys.argv[1:])
