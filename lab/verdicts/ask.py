"""Verdicts of the engine that is installed: its own parser and configuration code, asked without a device.

    PYTHON -m lab.verdicts.ask --platform cpu|cuda|npu --models KINDS.json --out OUT.jsonl IN.jsonl

Runs in that engine's interpreter and needs no package of this repository's. Each case is asked in a fork of a warm
process, so that no case changes the next one. Models are folders with a config.json and nothing else.
"""

import argparse
import contextlib
import importlib
import importlib.util
import io
import json
import logging
import os
import resource
import shutil
import signal
import sys
import tempfile
import traceback
from pathlib import Path
from typing import Any

HOME = "/mnt"
TARGET, DRAFT = f"{HOME}/target/model", f"{HOME}/draft/model"
KEPT = ("id", "method_group", "target", "draft", "speculative_config", "engine_args", "arctic_stub", "env", "cli_extra",
        "raw", "draft_path", "argv")  # fmt: skip
FILES = "files"
"""Key of a kind with further files of its folder."""
SECONDS, MEMORY = 120, 6 << 30
CHARACTERS = 400
ARTEFACTS = ("requires Triton", "No module named", "cannot import name", "libcuda", "Failed to infer device type")


class EngineWarnings(logging.Handler):
    """The engine's warnings."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        with contextlib.suppress(Exception):  # a record whose arguments do not fit its text
            self.lines.append(record.getMessage()[:CHARACTERS])


def folders(line: dict[str, Any], kinds: dict[str, Any], home: Path) -> None:
    """The model folders of a case, below `home` instead of /mnt."""
    for path, kind in ((TARGET, line.get("target")), (line.get("draft_path") or DRAFT, line.get("draft"))):
        place = home / path.removeprefix("/")
        shutil.rmtree(place, ignore_errors=True)
        if kind is None:
            continue
        place.mkdir(parents=True)
        config = kinds.get(kind)
        if isinstance(config, dict):
            kept = {name: value for name, value in config.items() if name != FILES}
            (place / "config.json").write_text(json.dumps(kept))
            for name, text in config.get(FILES, {}).items():
                (place / name).write_text(text)
        elif kind in ("d-badjson", "d-emptyjson"):
            (place / "config.json").write_text("{ not json" if kind == "d-badjson" else "")


def argv(line: dict[str, Any]) -> list[str]:
    """The command line of a case, unless it holds one."""
    if "argv" in line:
        return list(line["argv"])
    words = ["--model", TARGET]
    for name, value in (line.get("engine_args") or {}).items():
        flag = name.replace("_", "-")
        if isinstance(value, bool):
            words.append(f"--{flag}" if value else f"--no-{flag}")
        elif isinstance(value, list) and name == "logits_processors":
            words += [f"--{flag}", *map(str, value)]
        else:
            words += [f"--{flag}", json.dumps(value) if isinstance(value, dict | list) else str(value)]
    asked = line.get("speculative_config")
    if asked is not None or line.get("raw"):
        words += ["--speculative-config", str(asked) if line.get("raw") else json.dumps(asked)]
    return [*words, *map(str, line.get("cli_extra") or ())]


def entry() -> Any:
    """The module of the server's flags: it moved between releases."""
    for home in ("common", "launchers", "openai"):
        with contextlib.suppress(ImportError):
            return importlib.import_module(f"vllm.entrypoints.{home}.cli_args")
    raise ImportError("this engine has no cli_args that is known here")


def flexible() -> Any:
    """The engine's parser of command lines."""
    for home in ("vllm.utils.argparse_utils", "vllm.utils"):
        with contextlib.suppress(ImportError, AttributeError):
            return importlib.import_module(home).FlexibleArgumentParser()
    raise ImportError("this engine has no FlexibleArgumentParser that is known here")


def verdict(words: list[str]) -> dict[str, Any]:
    """The engine's verdict on a command line, and the stage that it came from."""
    arguments = importlib.import_module("vllm.engine.arg_utils").AsyncEngineArgs
    context = importlib.import_module("vllm.usage.usage_lib").UsageContext
    stage, spoken, told = "parse", io.StringIO(), EngineWarnings()
    for name in ("vllm", ""):
        logging.getLogger(name).addHandler(told)
    try:
        with contextlib.redirect_stderr(spoken):
            module = entry()
            args = module.make_arg_parser(flexible()).parse_args(words)
            module.validate_parsed_serve_args(args)
            stage = "engine_args"
            engine = arguments.from_cli_args(args)
            stage = "config"
            made = engine.create_engine_config(context.OPENAI_API_SERVER)
    except SystemExit:
        return refused(stage, "SystemExit", spoken.getvalue()[-CHARACTERS:], told, [])
    except BaseException as error:  # whatever it raises is its verdict
        where = [f"{Path(each.filename).name}:{each.lineno}" for each in traceback.extract_tb(error.__traceback__)][-4:]
        return refused(stage, type(error).__name__, str(error), told, where)
    return {"stage": stage, "ok": True, "resolved": resolved(made), "warnings": told.lines}


def refused(stage: str, kind: str, text: str, told: EngineWarnings, where: list[str]) -> dict[str, Any]:
    """A refusal as it is recorded; what fell over this machine is marked."""
    found = {"stage": stage, "ok": False, "error_type": kind, "error": text[:CHARACTERS], "warnings": told.lines}
    artefact = {"platform_specific": True} if any(each in text for each in ARTEFACTS) else {}
    return {**found, "at": where, **artefact}


def resolved(made: Any) -> dict[str, Any]:
    """What the engine settled on."""
    spec, plan = made.speculative_config, made.scheduler_config
    engine = {
        "max_num_seqs": plan.max_num_seqs,
        "max_num_batched_tokens": plan.max_num_batched_tokens,
        "max_model_len": made.model_config.max_model_len,
        "async_scheduling": getattr(plan, "async_scheduling", None),
        "v2_runner": bool(getattr(made, "use_v2_model_runner", False)),
    }
    of_spec = {} if spec is None else {"method": spec.method, "num_speculative_tokens": spec.num_speculative_tokens}
    return {**of_spec, "engine": engine}


def asked(line: dict[str, Any], kinds: dict[str, Any], home: Path) -> dict[str, Any]:
    """One case, in a process of its own that may hang, die or eat memory."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        answer(line, kinds, home, writing)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        data = pipe.read()
    _, status = os.waitpid(child, 0)
    if data:
        found: dict[str, Any] = json.loads(data)
        return found
    return {"stage": "config", "ok": False, "error_type": "Died", "error": f"wait status {status}", "warnings": []}


def answer(line: dict[str, Any], kinds: dict[str, Any], home: Path, pipe: int) -> None:
    """In the child: ask, write the answer, and end."""
    signal.alarm(SECONDS)
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    os.environ.update({name: str(value) for name, value in (line.get("env") or {}).items()})
    if line.get("arctic_stub"):
        sys.path.insert(0, str(home / "stub"))
    folders(line, kinds, home)
    here = str(home) + HOME
    found = verdict([each.replace(HOME, here) if HOME in each else each for each in argv(line)])
    text = json.dumps(found, default=str).replace(here, HOME)
    with os.fdopen(pipe, "wb") as out:
        out.write(text.encode())
    os._exit(0)


def warm(kinds: dict[str, Any]) -> str:
    """Import what cases need, once; returns the engine's version."""
    registry: Any = importlib.import_module("vllm.model_executor.models.registry")
    registry._run_in_subprocess = lambda make: make()  # the engine looks at model classes in a process of its own
    entry()
    for name in sorted(
        {each for kind in kinds.values() if isinstance(kind, dict) for each in kind.get("architectures") or ()}
    ):
        with contextlib.suppress(BaseException):
            registry.ModelRegistry.models[name].inspect_model_cls()
    return str(importlib.import_module("vllm").__version__).partition("+")[0]


def main(words: list[str]) -> None:
    """Ask for every case of a file; goes on where it was stopped."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--platform", choices=("cpu", "cuda", "npu"), required=True)
    parser.add_argument("--models", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("file", type=Path)
    given = parser.parse_args(words)
    kinds = json.loads(given.models.read_text())
    sys.path.append(str(Path(__file__).parents[2]))
    importlib.import_module("lab.verdicts.pretend").pretend(given.platform)
    version = warm(kinds)
    done = {json.loads(each)["id"] for each in given.out.read_text().splitlines()} if given.out.exists() else set()
    lines = [each for each in map(json.loads, given.file.read_text().splitlines()) if each["id"] not in done]
    engine = {
        "engine": "vllm-ascend" if given.platform == "npu" else "vllm",
        "version": version,
        "platform": given.platform,
    }
    installed = {"arctic_stub": True} if importlib.util.find_spec("arctic_inference") else {}
    with tempfile.TemporaryDirectory() as home, given.out.open("a") as out:
        stub = Path(home) / "stub" / "arctic_inference"
        stub.mkdir(parents=True)
        (stub / "__init__.py").touch()
        for line in lines:
            kept = {name: line[name] for name in KEPT if name in line} | installed
            out.write(json.dumps({**kept, **engine, **asked(line, kinds, Path(home))}) + "\n")
            out.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
