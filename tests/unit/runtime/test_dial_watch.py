"""The thread that follows the setting's file, and the note that it leaves for the server's page."""

import json
import time
from pathlib import Path
from typing import Any

import pytest

from specdec_runtime import notes
from specdec_runtime.dial import files, watch
from specdec_runtime.dial.hooks import DialPosition
from specdec_runtime.dial.state import DialledPod


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder as Kubernetes mounts it, and a folder for notes beside it."""
    mounted, notes = tmp_path / "dial", tmp_path / "notes"
    mounted.mkdir()
    notes.mkdir()
    (mounted / "revision").write_text("7f9c4d\n")
    monkeypatch.setenv(files.FOLDER, str(mounted))
    monkeypatch.setattr("tempfile.tempdir", str(notes))
    return mounted


def annotate(folder: Path, text: str) -> None:
    """Replace the file as Kubernetes does: a new folder, and a link that is moved to it at once."""
    version = folder / f"..{time.monotonic_ns()}"
    version.mkdir()
    (version / "setting").write_text(text)
    (folder / "..new").symlink_to(version.name)
    (folder / "..new").rename(folder / "..data")
    if not (folder / "setting").is_symlink():
        (folder / "setting").symlink_to("..data/setting")


def asked(tokens: int, **changes: Any) -> str:
    """A setting of this moment."""
    known = {"tokens": tokens, "revision": "7f9c4d", "time": time.time(), "decision": "d"}
    return json.dumps(known | changes)


def started(tokens: int = 4) -> tuple[watch.DialWatch, DialPosition]:
    """A thread that was not started, so that the test decides when it looks."""
    position = DialPosition(tokens=tokens, drafted=tokens)
    return watch.DialWatch(DialledPod(started=tokens, revision=files.revision()), position), position


def page() -> dict[str, Any]:
    """What GET /specdec/dial answers."""
    found: dict[str, Any] = json.loads(files.page())
    return found


def test_a_setting_is_in_force_and_on_the_page_after_one_look(folder: Path) -> None:
    """And gone after the annotation is."""
    thread, position = started()
    assert page()["tokens"] == 4
    for tokens in (0, 2, 4, 1):
        annotate(folder, asked(tokens))
        thread.look()
        assert (position.tokens, page()["tokens"]) == (tokens, tokens)
    annotate(folder, "")
    thread.look()
    assert (position.tokens, page()["why"]) == (4, "as the engine was started: the setting was removed")


def test_a_refused_setting_leaves_the_engine_and_is_on_the_page(folder: Path) -> None:
    """200 kB of garbage, of which no more than a few kB are read."""
    thread, position = started()
    annotate(folder, "x" * 200_000)
    assert len(files.setting()) == 4097
    thread.look()
    assert position.tokens == 4
    assert "more than 4096 bytes" in page()["refused"]["why"]


def test_the_file_is_read_only_when_it_was_replaced(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A look in between costs one stat."""
    thread, _ = started()
    annotate(folder, asked(0))
    thread.look()
    reads: list[bytes] = []
    monkeypatch.setattr(files, "setting", lambda: reads.append(b"") or b"")
    thread.look()
    assert reads == []
    annotate(folder, asked(1))
    thread.look()
    assert reads == [b""]


def test_a_setting_runs_out_although_nothing_is_written(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the clock that does not jump, and even if the file cannot be read any more."""
    thread, position = started()
    annotate(folder, asked(0, holdFor=60))
    thread.look()
    monkeypatch.setattr(files, "stamp", lambda: 1 / 0)
    steady = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: steady + 59)
    thread.look()
    assert position.tokens == 0
    monkeypatch.setattr(time, "monotonic", lambda: steady + 61)
    thread.look()
    assert (position.tokens, page()["tokens"]) == (4, 4)


def test_the_thread_looks_by_itself(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An idle engine takes no step, and its page still shows what holds."""
    thread, position = started()
    seen: list[int] = []

    def asleep(seconds: float) -> None:
        """Note what is in force after each look, and turn the dial; the third look is the last."""
        assert seconds == watch.PAUSE
        seen.append(position.tokens)
        annotate(folder, asked(len(seen)))
        if len(seen) == 3:
            raise TimeoutError

    monkeypatch.setattr(time, "sleep", asleep)
    with pytest.raises(TimeoutError):
        thread.run()
    assert seen == [4, 1, 2]


def test_a_pod_without_the_folder_or_the_note_has_no_dial(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page shows which of the two."""
    started()
    notes.forget()
    assert page() == {"offered": False, "why": "no dial: the engine has not reported one"}
    monkeypatch.setenv(files.FOLDER, str(folder / "nowhere"))
    assert page() == {"offered": False, "why": f"no dial: {folder}/nowhere is not mounted"}


def test_a_pod_without_a_revision_is_not_dialled(folder: Path) -> None:
    """No setting could be held against it."""
    (folder / "revision").write_text("\n")
    with pytest.raises(files.NotMountedError, match="revision is empty"):
        files.revision()


def test_a_folder_that_cannot_be_written_costs_the_page_only(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The dial works on."""
    thread, position = started()
    monkeypatch.setattr("tempfile.tempdir", str(folder / "nowhere"))
    annotate(folder, asked(0))
    thread.look()
    assert position.tokens == 0
    assert "cannot be written" in capsys.readouterr().out
