"""specdec_runtime: how a refused start ends, as the operator and the kubelet see it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from specdec_runtime import __main__ as commands
from specdec_runtime import refusal

REFUSAL = refusal.Refusal(reason="DraftMissing", field="--speculative-config model", message="it is not there")


@pytest.fixture(autouse=True)
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TERMINATION_LOG", str(tmp_path / "termination-log"))
    return tmp_path / "termination-log"


def test_the_termination_log_gets_one_json_line(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert refusal.report(REFUSAL) == 78
    (line,) = log.read_text().splitlines()
    assert json.loads(line) == {
        "reason": "DraftMissing",
        "field": "--speculative-config model",
        "message": "it is not there",
    }
    assert "DraftMissing: it is not there" in capsys.readouterr().err


def test_what_was_found_instead_is_in_the_line_for_the_operator() -> None:
    found = refusal.Refusal(reason="EngineVersionDiffers", field="--model", message="x", found="vllm 0.15.1")
    assert json.loads(found.line())["found"] == "vllm 0.15.1"


def test_a_long_sentence_is_cut_so_that_the_line_stays_json() -> None:
    """The kubelet keeps 4096 bytes; beyond them the operator would read half a line."""
    long = refusal.Refusal(reason="VocabularyMismatch", field="--model", message="é" * 9000)
    assert len(long.line().encode()) <= 4096
    assert json.loads(long.line())["message"].endswith("…")


def test_outside_a_pod_the_sentence_is_still_printed(
    log: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERMINATION_LOG", str(log / "no" / "such" / "folder"))
    assert refusal.report(REFUSAL) == 78
    assert "it is not there" in capsys.readouterr().err


def test_without_a_word_from_the_pod_it_is_where_kubernetes_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The default of a pod's terminationMessagePath."""
    monkeypatch.delenv("TERMINATION_LOG")
    assert refusal.termination_log() == Path("/dev/termination-log")


def test_serve_ends_with_the_code_and_never_reaches_vllm(tmp_path: Path, log: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "specdec_runtime", "serve", f"--model={tmp_path / 'gone'}"],
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": str(Path(commands.__file__).parents[2]), "TERMINATION_LOG": str(log)},
    )
    assert done.returncode == 78
    assert json.loads(log.read_text())["reason"] == "TargetMissing"
    assert "refused to start: TargetMissing" in done.stderr
    assert "specdec: start" not in done.stdout


def test_an_unknown_command_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert commands.main(["sing"]) == 2
    assert "serve|preflight|prove" in capsys.readouterr().err
