"""specdec_runtime.launch: the program that it becomes, its output, and what it leaves for prove."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from tests.unit.runtime import models
from tests.unit.runtime.engines import RUNTIME, server

from specdec_runtime import flags, launch, leaving


def serve(tmp_path: Path, *words: str, **variables: str) -> "subprocess.Popen[str]":
    """`serve` as a process, with a stand-in of vLLM on its path."""
    search = os.pathsep.join((str(tmp_path), str(RUNTIME)))
    return subprocess.Popen(
        [sys.executable, "-m", "specdec_runtime", "serve", *words],
        stdout=subprocess.PIPE,
        text=True,
        env={"PYTHONPATH": search, "TMPDIR": str(tmp_path), **variables},
    )


def test_serve_becomes_vllm_with_the_flags_as_they_came(tmp_path: Path) -> None:
    """A stand-in of vLLM's server prints what it was started with; the process must be the same one."""
    server(tmp_path, "import json, os, sys\nprint(json.dumps([os.getpid(), sys.argv[1:]]))\n")
    target, draft = models.write(tmp_path / "target"), models.write(tmp_path / "draft")
    speculation = json.dumps({"method": "draft_model", "model": str(draft), "num_speculative_tokens": 4})
    words = [f"--model={target}", "--speculative-config", speculation, "--port=8080", "--enforce-eager"]
    (tmp_path / "specdec-leaving").touch()
    started = serve(tmp_path, *words, VLLM_ENABLE_V1_MULTIPROCESSING="0")
    out, _ = started.communicate(timeout=30)
    said, last = out.splitlines()
    assert json.loads(last) == [started.pid, words]
    plan = json.loads(said.removeprefix("specdec: start "))
    assert (plan["method"], plan["tokens"], plan["draft"]) == ("draft_model", 4, str(draft))
    assert plan["environment"] == {"VLLM_ENABLE_V1_MULTIPROCESSING": "0"}
    assert plan["command"] == launch.command(words)
    assert json.loads((tmp_path / "specdec-plan.json").read_text()) == plan
    assert not (tmp_path / "specdec-leaving").exists()


@pytest.mark.parametrize(("words", "kept"), [([], ["3"]), (["--kv-cache-memory-bytes=536870912"], [None])])
def test_a_flag_for_the_cache_of_a_cpu_goes_before_the_variable(
    tmp_path: Path, words: list[str], kept: list[str | None]
) -> None:
    """vLLM reads the variable, which the runtime's manifest sets for users who set no flag."""
    server(tmp_path, 'import json, os\nprint(json.dumps([os.environ.get("VLLM_CPU_KVCACHE_SPACE")]))\n')
    target = models.write(tmp_path / "target")
    out, _ = serve(tmp_path, f"--model={target}", *words, VLLM_CPU_KVCACHE_SPACE="3").communicate(timeout=30)
    assert json.loads(out.splitlines()[-1]) == kept


def test_a_stop_before_vllm_runs_is_a_clean_end(tmp_path: Path) -> None:
    """A pod that waits for a Modelcar's folders is deleted: the first process of a container must hear that itself."""
    gone = ["--model=/no/such/folder/yet"]
    waiting = serve(tmp_path, *gone, MODEL_INIT_MODE="async")
    deadline = time.monotonic() + 20
    caught = 1 << (signal.SIGTERM - 1)
    while not _caught(waiting.pid) & caught and time.monotonic() < deadline:
        time.sleep(0.02)
    waiting.terminate()
    out, _ = waiting.communicate(timeout=20)
    assert (waiting.returncode, out) == (0, "specdec: asked to stop before the server was up\n")


def _caught(pid: int) -> int:
    """Signals that a process has a handler for, as the kernel reports them: one bit each."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(next(line.split()[1] for line in status.splitlines() if line.startswith("SigCgt")), 16)


def plan(*words: str, **variables: str) -> dict[str, Any]:
    arguments = ["--model=/m", *words]
    return launch.plan(flags.read(arguments), arguments, variables)


def test_a_plan_holds_what_prove_expects_and_how_the_engine_runs() -> None:
    """Variables of the engine and of its libraries, and no others."""
    schedule = [[1, 1, 0], [2, 64, 3]]
    config = {"method": "ngram", "num_speculative_tokens": 3, "num_speculative_tokens_per_batch_size": schedule}
    said = plan(f"--speculative-config={json.dumps(config)}", OMP_NUM_THREADS="2", HOME="/", VLLM_USE_V1="1")
    assert (said["method"], said["tokens"], said["schedule"], said["draft"]) == ("ngram", 3, schedule, None)
    assert said["environment"] == {"OMP_NUM_THREADS": "2", "VLLM_USE_V1": "1"}
    assert (plan()["method"], plan()["tokens"]) == (None, None)


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (["--api-key=abc", "--port=1"], ["--api-key=***", "--port=1"]),
        (["--api-key", "abc", "--port=1"], ["--api-key", "***", "--port=1"]),
        (["--hf-token=abc"], ["--hf-token=***"]),
        (["--hf_token", "abc"], ["--hf_token", "***"]),
        (["--max-num-batched-tokens=8"], ["--max-num-batched-tokens=8"]),
    ],
)
def test_a_plan_shows_no_secret(words: list[str], shown: list[str]) -> None:
    """Logs are read by many."""
    said = plan(*words, VLLM_API_KEY="abc")
    assert said["command"][-len(shown) :] == shown
    assert said["environment"] == {}


def test_the_mark_of_a_pod_that_leaves_is_where_drain_leaves_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder that outlives a container would else have every answer of the next one close its connection."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    leaving.mark().touch()
    launch.write_plan(plan(), launch.plan_path())
    assert not leaving.mark().exists()
