"""The program of the staging Job, run as the Job runs it: its downloads, what is left after any end, its output."""

import contextlib
import json
import os
import pathlib
import shutil
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from specdec_operator.downloads.job import program

STANDIN = pathlib.Path(__file__).parents[2] / "kserve_storage_standin"
KEY = "0123456789abcdef"
OTHER_KEY = "fedcba9876543210"
PATIENCE = "_PATIENCE: Final = 60.0"


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """How the program ended: its exit status, its lines, everything it wrote, and its termination message."""

    code: int
    lines: list[dict[str, Any]]
    said: str
    last_words: dict[str, str] | None

    @property
    def done(self) -> dict[str, Any]:
        done: dict[str, Any] = self.lines[-1]["done"]
        return done


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A PVC, a model to download into it, and what the program leaves beside it."""

    root: pathlib.Path

    @property
    def claim(self) -> pathlib.Path:
        return self.root / "claim"

    @property
    def model(self) -> pathlib.Path:
        return self.root / "model"

    @property
    def folder(self) -> pathlib.Path:
        return self.claim / KEY

    def start(
        self, uri: str = "", *keep: str, key: str = KEY, text: str | None = None, **env: str
    ) -> subprocess.Popen[str]:
        """Starts the program as the Job does, with the stand-in for kserve_storage."""
        around = {"PATH": os.environ["PATH"], "PYTHONPATH": str(STANDIN), "CALLS": str(self.root / "calls")}
        self.last_words.unlink(missing_ok=True)
        return subprocess.Popen(
            [sys.executable, "-c", text or program(), str(self.claim), uri or f"copy:{self.model}", key, *keep],
            env={**around, "TERMINATION_LOG": str(self.last_words), **env},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def end(self, process: subprocess.Popen[str]) -> Run:
        said, _ = process.communicate(timeout=60)
        lines = [json.loads(line) for line in said.splitlines() if line.startswith("{")]
        words = json.loads(self.last_words.read_text()) if self.last_words.exists() else None
        return Run(code=process.returncode, lines=lines, said=said, last_words=words)

    def run(self, uri: str = "", *keep: str, **more: str) -> Run:
        return self.end(self.start(uri, *keep, **more))

    @property
    def last_words(self) -> pathlib.Path:
        return self.root / "termination-log"

    @property
    def calls(self) -> int:
        calls = self.root / "calls"
        return len(calls.read_text().splitlines()) if calls.exists() else 0

    @property
    def left(self) -> set[str]:
        return {path.name for path in self.claim.iterdir() if not path.name.startswith(".lock-")}

    def whole(self, key: str = KEY) -> bool:
        there = {path.name: path.read_bytes() for path in (self.claim / key).glob("*")}
        return there == {path.name: path.read_bytes() for path in self.model.iterdir()}


def safetensors(size: int) -> bytes:
    """A safetensors file of one tensor of so many bytes."""
    header = json.dumps({"__metadata__": {}, "w": {"dtype": "U8", "shape": [size], "data_offsets": [0, size]}}).encode()
    return len(header).to_bytes(8, "little") + header + bytes(size)


@pytest.fixture
def place(tmp_path: pathlib.Path) -> Place:
    """An empty PVC and a model of two shards, which only its owner may read."""
    found = Place(root=tmp_path)
    found.claim.mkdir()
    found.model.mkdir()
    shards = ["model-1-of-2.safetensors", "model-2-of-2.safetensors"]
    index = {"weight_map": {"a": shards[0], "b": shards[1], "c": shards[0]}}
    contents = {"config.json": b"{}", "model.safetensors.index.json": json.dumps(index).encode()}
    for name, content in {**contents, **dict.fromkeys(shards, safetensors(1000))}.items():
        (found.model / name).write_bytes(content)
        (found.model / name).chmod(0o600)
    return found


def test_the_artifact_comes_with_a_marker_that_notes_its_files(place: Place) -> None:
    """By these sizes a later run knows that it is whole."""
    run = place.run()
    marker = json.loads((place.claim / f"{KEY}.json").read_text())
    assert run.code == 0
    assert place.whole()
    assert place.left == {KEY, f"{KEY}.json"}
    assert marker["files"] == {path.name: path.stat().st_size for path in place.model.iterdir()}
    assert marker["bytes"] == sum(marker["files"].values()) == run.done["bytes"]
    assert time.time() - marker["fetched_at"] < 60
    assert run.last_words is None


def test_everybody_may_read_what_came(place: Place) -> None:
    """The pods that serve run as other users than the Job."""
    place.run()
    assert all(path.stat().st_mode & 0o444 == 0o444 for path in place.folder.iterdir())
    assert stat.S_IMODE(place.folder.stat().st_mode) & 0o555 == 0o555


def test_an_artifact_that_exists_is_not_downloaded_again(place: Place) -> None:
    """The program does not import kserve_storage then, and sends nothing over the network."""
    place.run()
    again = place.run(PYTHONPATH="")
    assert (again.code, again.done["already"], place.calls) == (0, True, 1)


@pytest.mark.parametrize(
    "harm",
    [
        lambda place: (place.claim / f"{KEY}.json").unlink(),
        lambda place: (place.claim / f"{KEY}.json").write_text("{"),
        lambda place: (place.folder / "config.json").write_text("{ }"),
        lambda place: (place.folder / "config.json").unlink(),
    ],
    ids=["no marker", "no JSON", "another size", "a file missing"],
)
def test_an_artifact_that_differs_from_its_marker_is_downloaded_again(place: Place, harm: Any) -> None:
    """This holds for any writer of the change: the served files are the downloaded ones."""
    place.run()
    harm(place)
    again = place.run()
    assert (again.code, again.done["already"], place.calls) == (0, False, 2)
    assert place.whole()


def test_the_folders_that_libraries_keep_for_themselves_are_left_out(place: Place) -> None:
    """huggingface_hub's notes and git's history are of no use to an engine."""
    for name in (".cache", ".git"):
        (place.model / name).mkdir()
        (place.model / name / "pack").write_text("x")
    place.run()
    assert not {".cache", ".git"} & {path.name for path in place.folder.iterdir()}


CRASHES = pathlib.Path(__file__).parent / "crashes.py"


@pytest.mark.parametrize("key", [None, KEY, OTHER_KEY], ids=["nothing", "another revision of it", "another artifact"])
def test_a_crash_at_any_moment_leaves_nothing_or_a_whole_folder_and_is_mended(place: Place, key: str | None) -> None:
    """Whatever lay there before, and nothing whole is downloaded twice. The second run leaves the artifact with its
    marker, and the lock.
    """
    before = place.root / "before"
    before.mkdir()
    if key is not None:
        shutil.copytree(place.model, before / key)
        note = {"uri": "x", "files": {"config.json": 5}, "bytes": 5, "seconds": 1.0, "fetched_at": 1.0}
        (before / key / "config.json").write_text("{ }  ")
        (before / f"{key}.json").write_text(json.dumps(note | {"files": {"config.json": 6}}))
    arguments = [program(), before, place.model, place.claim, KEY]
    env = {"PYTHONPATH": str(STANDIN), "CALLS": str(place.root / "calls"), "TERMINATION_LOG": os.devnull}
    (place.root / "calls").touch()
    told = subprocess.run([sys.executable, CRASHES, *arguments], env=env, capture_output=True, check=True)
    crashes = [json.loads(line) for line in told.stdout.splitlines()]
    assert [each["code"] for each in crashes] == [137] * (len(crashes) - 1) + [0]
    assert len(crashes) > 8
    founds = [each["found"] for each in crashes]
    assert founds == sorted(founds, key=["the old one", "nothing", "whole"].index)
    assert [each["downloads"] for each in crashes] == [0 if found == "whole" else 1 for found in founds]
    assert {tuple(each["mended"]) for each in crashes} == {(0, "whole", f".lock-{KEY}", KEY, f"{KEY}.json")}


@contextlib.contextmanager
def half_way(place: Place) -> Iterator[subprocess.Popen[str]]:
    process = place.start(f"slow:{place.model}")
    until = time.monotonic() + 30
    while not list(place.claim.glob(".partial-*/*")):
        assert time.monotonic() < until
        time.sleep(0.01)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def test_a_run_that_gets_the_signal_to_stop_removes_its_rest(place: Place) -> None:
    """The Job is deleted: its bytes are needed for what comes next."""
    with half_way(place) as process:
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=60) == 143
    assert place.left == set()


def test_processes_that_are_forked_for_the_download_end_without_harm(place: Place) -> None:
    """kserve_storage ends those that fetch from S3 by SIGTERM when all went well, and waits until they are gone."""
    assert place.run(f"forked:{place.model}").code == 0
    assert place.whole()


def test_of_two_at_once_one_downloads_and_reports_its_progress(place: Place) -> None:
    """A pod of a node that was lost may still be at work when the next one starts."""
    first = place.start(f"slow:{place.model}", PAUSE="0.6")
    while not list(place.claim.glob(".partial-*")):
        time.sleep(0.01)
    second = place.start(f"slow:{place.model}", PAUSE="0.6")
    runs = [place.end(first), place.end(second)]
    assert [run.code for run in runs] == [0, 0]
    assert [run.done["already"] for run in runs] == [False, True]
    assert place.calls == 1
    assert place.whole()
    progress = runs[0].lines[0]
    assert 0 < progress["bytes"] < runs[0].done["bytes"]
    assert progress["seconds"] == pytest.approx(2.0, abs=0.5)


def test_the_second_of_two_gives_up_when_the_first_does_not_end(place: Place) -> None:
    """The Job is made again later; the message names the lock, in case no process holds it any more."""
    assert PATIENCE in program()
    with half_way(place):
        late = place.run(text=program().replace(PATIENCE, "_PATIENCE: Final = 0.0"))
    assert late.code == 1
    assert late.last_words is not None
    assert f".lock-{KEY}" in late.last_words["message"]


def test_artifacts_that_are_not_kept_are_removed_and_their_bytes_reported(place: Place) -> None:
    """The PVC holds what the spec names, and what still serves."""
    place.run(key=OTHER_KEY)
    place.run("", OTHER_KEY)
    assert place.left >= {KEY, OTHER_KEY}
    run = place.run()
    assert place.left == {KEY, f"{KEY}.json"}
    assert run.done["freed"] == run.done["bytes"]


def test_what_others_put_into_the_pvc_stays(place: Place) -> None:
    """Only folders with a marker of ours are ours."""
    (place.claim / OTHER_KEY).mkdir()
    (place.claim / OTHER_KEY / "weights").write_text("x")
    (place.claim / "notes.json").write_text('{"files": {}, "fetched_at": 1}')
    (place.claim / ".partial-mine").write_text("x")
    assert place.run().code == 0
    assert place.left == {KEY, f"{KEY}.json", OTHER_KEY, "notes.json", ".partial-mine"}


def test_the_rest_of_another_artifact_goes_before_the_download(place: Place) -> None:
    """There may be no room otherwise: even a run that fails has removed it."""
    rest = place.claim / f".partial-{OTHER_KEY}-pod-1"
    rest.mkdir()
    (rest / "shard").write_bytes(bytes(1000))
    os.utime(rest, (1, 1))
    assert place.run("fails:no").code == 1
    assert place.left == set()


def change(name: str, content: bytes) -> Any:
    return lambda model: (model / name).write_bytes(content)


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        (lambda model: (model / "model-2-of-2.safetensors").unlink(), "model-2-of-2.safetensors is listed in"),
        (change("model-2-of-2.safetensors", b""), "model-2-of-2.safetensors is listed in"),
        (change("model-2-of-2.safetensors", safetensors(1000)[:500]), "model-2-of-2.safetensors is incomplete: 500 of"),
        (
            change("model-2-of-2.safetensors", b"version https://git-lfs"),
            "model-2-of-2.safetensors does not have",
        ),
        (change("config.json", b"<html>Sign in</html>"), "config.json does not have the format"),
        (change("config.json", b"\xff\xfe"), "config.json does not have the format"),
        (
            change("model.safetensors.index.json", b"[]"),
            "model.safetensors.index.json does not have the format",
        ),
    ],
    ids=["missing", "empty", "cut short", "a pointer", "a page", "bytes", "no index"],
)
def test_half_a_model_is_refused_by_name(place: Place, harm: Any, said: str) -> None:
    """An engine would find it out after minutes, with an unclear error."""
    harm(place.model)
    run = place.run()
    assert run.last_words is not None
    assert (run.code, run.last_words["reason"], place.left) == (1, "Incomplete", set())
    assert said in run.last_words["message"]


def test_nothing_at_all_is_not_found(place: Place) -> None:
    for path in place.model.iterdir():
        path.unlink()
    run = place.run()
    assert run.last_words is not None
    assert (run.code, run.last_words["reason"]) == (1, "NotFound")


def test_a_full_pvc_is_reported_with_its_numbers(place: Place) -> None:
    """So that the user knows what to ask for."""
    run = place.run(f"full:{place.model}")
    assert run.last_words is not None
    assert (run.last_words["reason"], place.left) == ("DiskFull", set())
    assert "1 downloaded bytes were removed" in run.last_words["message"]
    assert "raise spec.staging.claim.storage" in run.last_words["message"]
    assert run.lines[-1] == {"failed": run.last_words}


def test_a_pvc_that_may_not_be_written_is_reported_with_the_user_who_may_not(place: Place) -> None:
    """On some file systems fsGroup changes nothing, and an administrator has to."""
    run = place.run("denied:/mnt/claim/x")
    assert run.last_words is not None
    assert run.last_words["message"].startswith(f"user {os.getuid()} may not write to the PVC: PermissionError:")


def test_an_image_without_kserve_storage_is_reported(place: Place) -> None:
    """A user's own storage container is another program."""
    run = place.run(PYTHONPATH="")
    assert run.last_words == {
        "reason": "DownloadFailed",
        "message": "ModuleNotFoundError: No module named 'kserve_storage'",
    }


def test_no_secret_is_shown(place: Place) -> None:
    """The log has no value of a variable that is named like a secret, and nothing of a URL beside its path."""
    words = "fails:cannot get https://me:pass1234@host/a?sig=signature1 with hf_token1234"
    run = place.run(words, HF_TOKEN="hf_token1234")  # noqa: S106 - it is to be looked for
    assert run.last_words == {"reason": "DownloadFailed", "message": "cannot get https://***@host/a?*** with ***"}
    assert "ERROR storage.initializer: failed with cannot get" in run.said
    assert not any(secret in run.said for secret in ("pass1234", "signature1", "hf_token1234"))


def test_the_marker_holds_no_secret(place: Place) -> None:
    """Every user who serves from the PVC can read it."""
    place.run(f"copy:{place.model}?sig=signature1")
    assert json.loads((place.claim / f"{KEY}.json").read_text())["uri"] == f"copy:{place.model}?***"
