"""Folders that a Modelcar links into the pod while the engine's container starts."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import time

import pytest

from specdec_runtime import arrival, flags

ASYNC = {"MODEL_INIT_MODE": "async"}


def served(target: pathlib.Path) -> flags.Flags:
    return flags.read([f"--model={target}"])


def test_a_link_that_comes_late_is_waited_for(tmp_path: pathlib.Path) -> None:
    """The sidecar makes it with `ln -s` when it has started."""
    (tmp_path / "lent").mkdir()
    timer = threading.Timer(0.3, (tmp_path / "model").symlink_to, [tmp_path / "lent"])
    begun = time.monotonic()
    timer.start()
    arrival.wait(served(tmp_path / "model"), ASYNC, seconds=20)
    assert 0.2 < time.monotonic() - begun < 10
    assert (tmp_path / "model").is_dir()


def test_nothing_is_waited_for_where_everything_is_mounted(tmp_path: pathlib.Path) -> None:
    """Without KServe's setting a missing folder is missing."""
    begun = time.monotonic()
    arrival.wait(served(tmp_path / "gone"), {}, seconds=20)
    assert time.monotonic() - begun < 5


def test_the_time_is_bounded(tmp_path: pathlib.Path) -> None:
    """Preflight then reports in its own message what is missing."""
    arrival.wait(served(tmp_path / "gone"), ASYNC, seconds=0.3)


def test_a_hub_id_is_left_to_the_engine() -> None:
    arrival.wait(flags.read(["--model=org/model"]), ASYNC, seconds=60)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_a_closed_folder_is_refused_with_the_way_out() -> None:
    """/proc/PID/root of another user's process, as a Modelcar of another user is."""
    owner = subprocess.Popen(["sleep", "30"])
    folder = pathlib.Path(tempfile.mkdtemp())  # another pytest that starts closes pytest's own folders again
    link = folder / "model"
    link.symlink_to(f"/proc/{owner.pid}/root/tmp")
    folder.chmod(0o755)
    program = (
        "import os, sys\n"
        "from specdec_runtime.__main__ import main\n"
        "os.setuid(65532)\n"
        f"sys.exit(main(['serve', '--model={link}']))"
    )
    paths = os.pathsep.join(path for path in sys.path if path)
    try:
        done = subprocess.run(
            [sys.executable, "-c", program],
            env={"PYTHONPATH": paths} | ASYNC,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
    finally:
        owner.kill()
        owner.wait()
        shutil.rmtree(folder)
    assert done.returncode == 78, done.stderr
    assert "ModelcarClosed" in done.stderr
    assert "uidModelcar" in done.stderr
