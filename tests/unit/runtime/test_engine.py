"""specdec_runtime.engine: how the end of vLLM is reported, with stand-ins of its server that end in each way."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from tests.unit.runtime.engines import RUNTIME, server

UP = """
import asyncio, logging, signal, sys

async def serve(seconds, ending=None):
    stop = asyncio.Event()
    for each in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(each, stop.set)
    print("up", flush=True)
    try:
        await asyncio.wait_for(stop.wait(), seconds)
    except TimeoutError:
        pass
    if ending is not None:
        raise ending
"""
NOTE = """
from specdec_runtime import witness
witness.register()
try:
    raise IndexError("index 178649035 is out of bounds\\nException raised from check at x.cpp:1")
except IndexError:
    logging.getLogger("vllm.v1.engine.core").exception("EngineCore encountered a fatal error.")
"""


def run(
    tmp_path: Path, text: str, *, send: int | None = None, newest: bool = False
) -> tuple[int, dict[str, Any] | None]:
    """The exit code and the termination message of the engine with a server; a signal is sent once it is up."""
    server(tmp_path, text, newest=newest)
    log = tmp_path / "termination-log"
    search = os.pathsep.join((str(tmp_path), str(RUNTIME)))
    engine = subprocess.Popen(
        [sys.executable, "-m", "specdec_runtime.engine", "--model=m"],
        stdout=subprocess.PIPE,
        text=True,
        env={"PYTHONPATH": search, "TMPDIR": str(tmp_path), "TERMINATION_LOG": str(log)},
        process_group=0,
    )
    with engine:
        assert engine.stdout is not None
        try:
            if send is not None:
                assert engine.stdout.readline() == "up\n"
                engine.send_signal(send)
            engine.communicate(timeout=30)
        except BaseException:
            os.killpg(engine.pid, signal.SIGKILL)  # with its children, which hold the pipe open
            raise
    return engine.returncode, json.loads(log.read_text()) if log.exists() else None


@pytest.mark.parametrize("newest", [False, True])
def test_a_server_that_ends_unasked_has_lost_its_engine(tmp_path: Path, newest: bool) -> None:
    """vLLM returns as after a clean stop; the cause is in the last log line of another of its processes."""
    text = f"{UP}{NOTE}\ndef main():\n    asyncio.run(serve(0.1))\nif __name__ == '__main__':\n    main()\n"
    code, said = run(tmp_path, text, newest=newest)
    assert code == 70
    assert said == {
        "reason": "EngineDied",
        "field": "",
        "message": "the engine died while serving: IndexError: index 178649035 is out of bounds",
    }


OUT_OF_MEMORY = "raise type('OutOfMemoryError', (RuntimeError,), {})('CUDA out of memory. Tried to allocate 2 GiB')"


@pytest.mark.parametrize(
    ("text", "code", "reason", "words"),
    [
        (OUT_OF_MEMORY, 1, "OutOfMemory", "the engine did not start: OutOfMemoryError: CUDA out of memory."),
        (f"{UP}\nasyncio.run(serve(0.1))\n", 70, "EngineDied", "ended without a log line"),
        (f"{UP}\nasyncio.run(serve(0.1, RuntimeError('x')))\n", 70, "EngineDied", ""),
    ],
    ids=["out of memory", "killed", "an exception while serving"],
)
def test_an_engine_that_ends_by_itself_has_its_reason(
    tmp_path: Path, text: str, code: int, reason: str, words: str
) -> None:
    """For memory the operator asks for less then; what may have been memory is not reported as that."""
    ended, said = run(tmp_path, text)
    assert said is not None
    assert (ended, said["reason"]) == (code, reason)
    assert words in said["message"]


@pytest.mark.parametrize("send", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("ending", ["None", "RuntimeError('EngineCore encountered an issue')", "KeyboardInterrupt()"])
def test_a_stop_that_was_asked_for_is_clean_whatever_vllm_makes_of_it(tmp_path: Path, ending: str, send: int) -> None:
    """vLLM's log is full of dead engines then, and they do not matter; its own loop must get the signal, too."""
    began = time.monotonic()
    assert run(tmp_path, f"{UP}{NOTE}\nasyncio.run(serve(25, {ending}))\n", send=send) == (0, None)
    assert time.monotonic() - began < 20


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        ("raise ValueError('Unsupported speculative method')", 1, "ValueError: Unsupported speculative method"),
        ("raise SystemExit(3)", 3, "the engine exited with code 3; its log has the reason"),
        (
            "import argparse, sys\nargparse.ArgumentParser().parse_args(sys.argv[1:])",
            2,
            "unrecognized arguments: --model=m",
        ),
        (
            f"import logging\n{NOTE}\nraise RuntimeError('Engine core initialization failed. See root cause above.')",
            1,
            "IndexError: index 178649035 is out of bounds",
        ),
        (
            "raise RuntimeError('Engine core initialization failed. See root cause above.')",
            1,
            "RuntimeError: Engine core initialization failed. See root cause above.",
        ),
        (f"import logging\n{NOTE}\nraise ValueError('port')", 1, "ValueError: port"),
    ],
    ids=["an exception", "a code", "a flag", "another process", "nobody said why", "its own, not another's"],
)
def test_a_server_that_does_not_come_up_ends_with_vllms_code_and_the_cause(
    tmp_path: Path, text: str, code: int, message: str
) -> None:
    """vLLM's own message points at the log, which the user does not have open."""
    said = {"reason": "EngineStartFailed", "field": "", "message": f"the engine did not start: {message}"}
    assert run(tmp_path, text) == (code, said)


SWALLOWED = """
import signal, time
def interrupt(*_):
    raise KeyboardInterrupt
signal.signal(signal.SIGTERM, interrupt)
try:
    print("up", flush=True)
    time.sleep(30)
except KeyboardInterrupt:
    pass
time.sleep(30)
"""


@pytest.mark.parametrize("each", [signal.SIGTERM, signal.SIGINT])
def test_a_stop_during_the_start_is_clean_and_quick(tmp_path: Path, each: int) -> None:
    """While vLLM imports and loads for minutes; its own handler is of no use, its handshake swallows what it raises."""
    began = time.monotonic()
    assert run(tmp_path, SWALLOWED, send=each) == (0, None)
    assert time.monotonic() - began < 20


CHILD = """
import multiprocessing, os, pathlib, tempfile, time
def wait():
    time.sleep(60)
def main():
    child = multiprocessing.get_context("spawn").Process(target=wait)
    child.start()
    (pathlib.Path(tempfile.gettempdir()) / "child").write_text(str(child.pid))
    print("up", flush=True)
    time.sleep(60)
"""


def test_a_stop_during_the_start_leaves_no_process(tmp_path: Path) -> None:
    """The engine's process is one of its own, and loads the weights."""
    assert run(tmp_path, CHILD, send=signal.SIGTERM, newest=True) == (0, None)
    child = int((tmp_path / "child").read_text())
    until = time.monotonic() + 30
    while Path(f"/proc/{child}").exists() and "State:\tZ" not in Path(f"/proc/{child}/status").read_text():
        assert time.monotonic() < until
        time.sleep(0.05)


UNLISTED = """
import time
from specdec_runtime import family
def fail(*_):
    raise ProcessLookupError(3, "No such process")
family.descendants = fail
def main():
    print("up", flush=True)
    time.sleep(60)
"""


def test_a_stop_during_the_start_is_clean_where_the_processes_cannot_be_listed(tmp_path: Path) -> None:
    """What a signal's handler raises is raised in the middle of the start: it would be reported as a failed start."""
    assert run(tmp_path, UNLISTED, send=signal.SIGTERM, newest=True) == (0, None)


def test_notes_of_an_earlier_container_are_not_this_ones(tmp_path: Path) -> None:
    """The folder for temporary files may be a volume that outlives a crash."""
    (tmp_path / "specdec-errors.jsonl").write_text('{"at": 0, "said": "of yesterday"}\n')
    _, said = run(tmp_path, f"{UP}\nasyncio.run(serve(0.1))\n")
    assert said is not None
    assert "yesterday" not in said["message"]
