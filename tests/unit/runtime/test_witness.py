"""specdec_runtime.witness and .sentence: which error is the cause, and which part of its message is kept."""

import json
import logging
from pathlib import Path

import pytest

from specdec_runtime import sentence, witness
from specdec_runtime.notes import ERRORS, path

LOG = logging.getLogger("vllm.v1.executor.multiproc_executor")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The container's folder for temporary files, and vLLM's logger without what a test added."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(logging.getLogger("vllm"), "handlers", [])
    return tmp_path


def fail(message: str, error: Exception, *words: object) -> None:
    try:
        raise error
    except Exception:
        LOG.exception(message, *words)


def test_the_first_of_the_errors_that_came_together_is_the_cause() -> None:
    """A worker fails, then the engine by it; loading twice must not write twice."""
    witness.register()
    witness.register()
    fail("WorkerProc hit an exception.", RuntimeError("shape '[-1, 768]' is invalid"))
    fail("EngineCore encountered a fatal error.", RuntimeError("Worker failed with error"))
    assert len(path(ERRORS).read_text().splitlines()) == 2
    assert witness.cause() == "RuntimeError: shape '[-1, 768]' is invalid"


def test_an_error_that_the_engine_outlived_is_not_the_cause() -> None:
    """A LoRA that did not load, an hour before the end."""
    notes = [{"at": 1000.0, "said": "old"}, {"at": 4600.0, "said": "cause"}, {"at": 4600.5, "said": "consequence"}]
    path(ERRORS).write_text("".join(f"{json.dumps(each)}\n" for each in notes))
    assert witness.cause() == "cause"


def test_only_errors_that_end_a_process_are_noted() -> None:
    """A request that could not be read ends no process, and a warning ends none."""
    witness.register()
    fail("Error in preprocessing prompt inputs", ValueError("x"))
    LOG.warning("WorkerProc is slow")
    assert witness.cause() is None
    LOG.error("Worker proc %s died unexpectedly (exit code: %s), shutting down executor.", "VllmWorker-0", -9)
    assert witness.cause() == "Worker proc VllmWorker-0 died unexpectedly (exit code: -9), shutting down executor."


@pytest.mark.parametrize("text", ["", "{", "[1]\n", '{"at": 1}\n', '{"at": "x", "said": "y"}\n'])
def test_notes_that_cannot_be_read_are_ignored(text: str) -> None:
    """A kill may end a process in the middle of a line."""
    path(ERRORS).write_text(text)
    assert witness.cause() is None


def test_notes_do_not_grow_for_ever() -> None:
    """An error that comes with each request for weeks, and then the end."""
    witness.register()
    path(ERRORS).write_text("x" * 70_000 + "\n")
    fail("EngineCore encountered a fatal error.", RuntimeError("last"))
    assert witness.cause() == "RuntimeError: last"


def test_a_folder_that_is_gone_stops_no_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Logging an error must never become one; the logging module reports its own errors if it is set to."""
    monkeypatch.setattr(logging, "raiseExceptions", False)
    witness.register()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "gone"))
    fail("EngineCore encountered a fatal error.", RuntimeError("x"))
    assert witness.cause() is None


PYDANTIC = (
    "1 validation error for VllmConfig\n"
    "  Value error, Target and draft model should have the same vocabulary size. Draft model vocab_size=2050. "
    "[type=value_error, input_value=ArgsKwargs((), {'model_config': ModelConfig(model='x')}), input_type=ArgsKwargs]\n"
    "    For further information visit https://errors.pydantic.dev/2.13/v/value_error"
)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (RuntimeError("two\n  lines"), "RuntimeError: two lines"),
        (AssertionError(), "AssertionError"),
        (
            RuntimeError("index out of range\nException raised from f at a.cpp:1\nframe #0: x"),
            "RuntimeError: index out of range",
        ),
        (
            type("ValidationError", (ValueError,), {})(PYDANTIC),
            "Target and draft model should have the same vocabulary size. Draft model vocab_size=2050.",
        ),
        (ValueError("x" * 2000), "ValueError: " + "x" * 1000 + "…"),
    ],
    ids=["lines", "no words", "a stack of C++", "pydantic", "long"],
)
def test_an_error_becomes_one_sentence(error: Exception, said: str) -> None:
    """It stands in a condition beside the reason."""
    assert sentence.of(error) == said
