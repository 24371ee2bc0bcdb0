"""`specdec demo`: in a pipe, on a terminal, as a page, and what it refuses."""

import os
import pathlib
import pty
import re
import signal
import subprocess
import sys
import time

import pytest
from tests.signals import heed_interrupts
from typer.testing import CliRunner

from specdec_command.cli.commands import application
from specdec_command.story.recording import read_story

PROGRAM = (sys.executable, "-m", "specdec_command.cli.main", "demo")
ROOT = pathlib.Path(__file__).parents[3]


def demo(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(application("demo"), ["demo", *arguments])
    return result.exit_code, result.output


def test_a_pipe_gets_all_of_it_at_once() -> None:
    """Without colours, without spaces at the ends, and in seconds though the story has minutes."""
    begun = time.monotonic()
    code, output = demo()
    assert (code, time.monotonic() - begun < 15) == (0, True)
    assert "\x1b" not in output
    assert not [each for each in output.splitlines() if each != each.rstrip() or len(each) > 110]
    assert "01:37  Responding" in output
    assert "$ specdec retry tiny -n demo" in output


def test_it_shows_that_it_is_a_recording_and_of_what() -> None:
    output = " ".join(demo()[1].split())
    assert output.startswith("Recordings of real runs, played one after the other. No cluster is used.")
    for each in read_story().sources:
        assert f"recorded {each.when}, {each.where}, {each.made_by}" in output


def test_the_page_is_one_file_that_loads_nothing(tmp_path: pathlib.Path) -> None:
    """The operator's own page of every chapter is in it."""
    file = tmp_path / "story.html"
    code, output = demo("--page", str(file))
    page = file.read_text()
    assert (code, f"Written: {file}" in output) == (0, True)
    assert not re.findall(r"<script|<link|src=|url\(|@import", page)
    assert set(re.findall(r'href="([^"]*)"', page)) == {"#content"}
    assert page.count("What to do next") == len(read_story().chapters)
    assert "AcceptanceRateLow: acceptance 0.00 &lt; 0.40" in page
    assert "Recordings of real runs" in page


@pytest.mark.parametrize("speed", ["0", "-1", "nan", "inf", "1001"])
def test_an_invalid_speed_is_refused(speed: str) -> None:
    code, output = demo("--speed", speed)
    assert (code, "must be a number from 0.1 to 1000" in output) == (2, True)


def test_a_page_that_cannot_be_written_is_refused_before_the_story(tmp_path: pathlib.Path) -> None:
    code, output = demo("--page", str(tmp_path / "none" / "story.html"))
    assert code == 2
    assert output.startswith("error: --page ")
    assert output.rstrip().endswith("story.html: it cannot be written: No such file or directory")


def on_a_terminal(*arguments: str) -> tuple[subprocess.Popen[bytes], int]:
    ours, its = pty.openpty()
    settings = os.environ | {"TERM": "xterm", "PYTHONPATH": f"{ROOT / 'operator'}:{ROOT / 'runtime'}"}
    running = subprocess.Popen(
        [*PROGRAM, *arguments],
        stdin=its,
        stdout=its,
        stderr=its,
        env=settings,
        preexec_fn=heed_interrupts,  # noqa: PLW1509
    )
    os.close(its)
    return running, ours


def read_until(terminal: int, word: bytes) -> bytes:
    seen = b""
    while word not in seen:
        try:
            seen += os.read(terminal, 4096)
        except OSError:  # it has ended
            break
    return seen


def test_ctrl_c_ends_it_and_leaves_the_terminal_as_it_was() -> None:
    """Within the first chapter: exit code 130, no traceback, and the cursor is shown again."""
    running, terminal = on_a_terminal()
    begun = read_until(terminal, b"traffic")
    running.send_signal(signal.SIGINT)
    rest = read_until(terminal, b"nothing that is ever written")
    os.close(terminal)
    assert running.wait(timeout=20) == 130
    assert b"Traceback" not in begun + rest
    assert (b"\x1b[?25l" in begun, rest.rstrip().rfind(b"\x1b[?25h") > 0) == (True, True)
    assert b"Speculation is taken out" not in begun + rest


def test_a_terminal_sees_the_story_go_by() -> None:
    """Ten times as fast and faster: the panel moves, and the lines stay."""
    running, terminal = on_a_terminal("--speed", "500")
    seen = read_until(terminal, b"nothing that is ever written")
    os.close(terminal)
    assert running.wait(timeout=60) == 0
    assert b"acceptance" in seen
    assert b"\x1b[?25l" in seen
    assert b"Decided 20 s after the traffic changed" in seen
