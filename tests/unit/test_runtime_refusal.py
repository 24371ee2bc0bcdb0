"""specdec_runtime: how a refused start ends, as the operator and the kubelet see it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from specdec_runtime import __main__ as commands
from specdec_runtime import refusal

REFUSAL = refusal.Refusal(reason="DraftMissing", field="--speculative-config model", message="it is not there")


def test_the_termination_log_gets_one_json_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "termination-log"
    assert refusal.report(REFUSAL, log) == 78
    (line,) = log.read_text().splitlines()
    assert json.loads(line) == {
        "reason": "DraftMissing",
        "field": "--speculative-config model",
        "message": "it is not there",
    }
    assert "DraftMissing: it is not there" in capsys.readouterr().err


def test_a_long_sentence_is_cut_so_that_the_line_stays_json() -> None:
    """The kubelet keeps 4096 bytes; beyond them the operator would read half a line."""
    long = refusal.Refusal(reason="VocabularyMismatch", field="--model", message="é" * 9000)
    assert len(long.line().encode()) <= 4096
    assert json.loads(long.line())["message"].endswith("…")


def test_outside_a_pod_the_sentence_is_still_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert refusal.report(REFUSAL, tmp_path / "no" / "such" / "folder") == 78
    assert "it is not there" in capsys.readouterr().err


def test_serve_ends_with_the_code_and_never_reaches_vllm(tmp_path: Path) -> None:
    """As a process, the way the kubelet sees it."""
    done = subprocess.run(
        [sys.executable, "-m", "specdec_runtime", "serve", f"--model={tmp_path / 'gone'}"],
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": str(Path(commands.__file__).parents[1])},
    )
    assert done.returncode == 78
    assert "refused to start: TargetMissing" in done.stderr
    assert "specdec: start" not in done.stdout


def test_an_unknown_command_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert commands.main(["sing"]) == 2
    assert "serve|preflight|prove" in capsys.readouterr().err
