"""hack.cluster.process: a process is known by pid, start time and boot, so a stranger is never signalled."""

import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace

import pytest
from hack.cluster import process

# A parent that ignores being asked to end, with a child in its group.
STUBBORN = "trap '' TERM; sleep 60 & echo started; wait; sleep 60"


@pytest.fixture
def sleeper(tmp_path: pathlib.Path) -> Iterator[process.Identity]:
    identity = process.spawn("sleeper", ["sleep", "60"], folder=tmp_path / "ids", log=tmp_path / "sleeper.log")
    yield identity
    process.stop([identity], grace=0.0)


def test_a_started_program_is_alive_until_it_is_stopped(sleeper: process.Identity) -> None:
    assert process.alive(sleeper)
    process.stop([sleeper], grace=5.0)
    assert not process.alive(sleeper)


def test_a_recycled_pid_is_a_stranger_and_is_left_alone(sleeper: process.Identity) -> None:
    """The file names this pid, but another start: another process has the number now."""
    stranger = replace(sleeper, started=sleeper.started - 1)
    assert not process.alive(stranger)
    process.stop([stranger], grace=0.0)
    assert process.alive(sleeper)


def test_a_file_from_before_a_reboot_names_no_process(sleeper: process.Identity) -> None:
    assert not process.alive(replace(sleeper, boot="an-earlier-boot"))


def test_a_zombie_is_dead() -> None:
    """It keeps its pid until its parent asks for it, but nothing of it runs."""
    child = subprocess.Popen([sys.executable, "-c", ""])
    deadline = time.monotonic() + 30
    while process.identify(child.pid) is not None and time.monotonic() < deadline:
        time.sleep(0.01)
    assert pathlib.Path(f"/proc/{child.pid}").exists()
    assert process.identify(child.pid) is None
    child.wait()


def test_stopping_ends_the_whole_group_even_when_it_will_not_end(tmp_path: pathlib.Path) -> None:
    log = tmp_path / "stubborn.log"
    leader = process.spawn("stubborn", ["bash", "-c", STUBBORN], folder=tmp_path, log=log)
    while "started" not in log.read_text():
        time.sleep(0.01)
    process.stop([leader], grace=0.2)
    assert not process.alive(leader)
    deadline = time.monotonic() + 30
    while _living_members(leader.pid) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert _living_members(leader.pid) == []


def _living_members(group: int) -> list[int]:
    found = []
    for file in pathlib.Path("/proc").glob("[0-9]*/stat"):
        # Any other process may end between the listing and the reading.
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            row = process.stat_fields(file.read_text())
            found += [int(row[0])] if int(row[4]) == group and row[2] not in "ZX" else []
    return found


def test_ctrl_c_here_does_not_reach_a_started_program(sleeper: process.Identity) -> None:
    assert os.getsid(sleeper.pid) != os.getsid(0)


def test_identities_are_read_back_and_half_written_ones_are_ignored(tmp_path: pathlib.Path) -> None:
    identity = process.Identity(pid=1, started=2, boot="b")
    process.remember(tmp_path, "one", identity)
    (tmp_path / "torn.json").write_text('{"pid": 3')
    assert process.recall_all(tmp_path) == {"one": identity}
    assert process.recall(tmp_path, "absent") is None


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("7 (plain) S 1 7 7", "plain"),
        ("7 (with space) S 1 7 7", "with space"),
        ("7 (odd) (name)) S 1 7 7", "odd) (name)"),
    ],
)
def test_a_program_name_may_hold_anything(text: str, name: str) -> None:
    assert process.stat_fields(text)[:3] == ["7", name, "S"]


def test_a_program_that_does_not_answer_is_waited_for_only_until_the_timeout(sleeper: process.Identity) -> None:
    os.kill(sleeper.pid, signal.SIGSTOP)
    begun = time.monotonic()
    assert process.wait_gone([sleeper], timeout=0.2) == [sleeper]
    assert time.monotonic() - begun < 2.0
