"""The folder that is brought into an image without specdec_runtime, run as it is in the pod."""

import json
import os
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.unit.runtime import models
from tests.unit.runtime.engines import RUNTIME, server

from specdec_runtime import interpreter

SAYS = "import json, os, sys\nprint(json.dumps([sys.argv[1:], os.environ['PYTHONPATH']]))\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """What Dockerfile.operator puts together, by the same names."""
    made = tmp_path / "specdec"
    shutil.copytree(RUNTIME / "injected", made)
    for name in ("specdec_engine", "specdec_runtime"):
        shutil.copytree(RUNTIME / name, made / name)
    dockerfile = (RUNTIME.parent / "Dockerfile.operator").read_text()
    for left_out in re.findall(r'rm -r "\$folder/(\S+)"', dockerfile):
        shutil.rmtree(made / left_out)
    return made


def run(folder: Path, *words: str, python_path: str, **more: str) -> "subprocess.CompletedProcess[str]":
    environment = {"PYTHONPATH": python_path, "TMPDIR": str(folder.parent), "PATH": os.environ["PATH"], **more}
    argv = [sys.executable, str(folder), *words]
    return subprocess.run(argv, env=environment, capture_output=True, text=True, check=False, timeout=30)


def test_nothing_of_the_memory_plan_is_sent_into_pods(folder: Path) -> None:
    """The operator plans; the rest of what is known about engines stays within half a megabyte."""
    assert not (folder / "specdec_engine" / "memory").exists()
    sizes = [each.stat().st_size for each in (folder / "specdec_engine").rglob("*") if each.suffix in (".py", ".json")]
    assert sum(sizes) < 512 * 1024


def test_the_folder_serves_with_the_images_own_path_kept(folder: Path, tmp_path: Path) -> None:
    """An Ascend image has its operators' Python in PYTHONPATH: vLLM would not start without it."""
    image = tmp_path / "image"
    server(image, SAYS)
    words = [f"--model={models.write(tmp_path / 'target')}", "--port=8080"]
    done = run(folder, "serve", *words, python_path=str(image))
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == [words, os.pathsep.join((str(folder), str(image)))]


def test_the_folder_refuses_what_was_meant_for_a_shell(folder: Path, tmp_path: Path) -> None:
    """A runtime of `bash -c` has a script among its arguments: vLLM would read it as a flag."""
    log = tmp_path / "termination-log"
    words = ("vllm serve /mnt/models", f"--model={tmp_path}")
    done = run(folder, "serve", *words, python_path="", TERMINATION_LOG=str(log))
    assert done.returncode == 78
    said = json.loads(log.read_text())
    assert said["reason"] == "NoFlags"
    assert "spec.engine.instrument: None" in said["message"]


def test_the_folder_proves(folder: Path) -> None:
    """By the program that the startup probe runs; nothing listens there."""
    done = run(folder, "prove", "--port=9", "--timeout=1", python_path="")
    assert done.returncode == 1
    assert "nothing listens on port 9 yet" in done.stdout


def test_the_engine_runs_in_the_python_that_has_vllm(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Some images have vLLM in an environment of its own; the first line of the command names it."""
    monkeypatch.setenv("PATH", str(tmp_path))
    assert interpreter.with_vllm() == sys.executable
    python = tmp_path / "venv-python3"
    python.touch()
    command = tmp_path / "vllm"
    command.write_text(f"#!{python}\nimport vllm\n")
    command.chmod(0o755)
    assert interpreter.with_vllm() == str(python)
    command.write_text("#!/bin/sh\nexec something\n")
    assert interpreter.with_vllm() == sys.executable
    command.write_bytes(b"\x7fELF\x00")
    assert interpreter.with_vllm() == sys.executable


def test_an_old_python_gives_way_to_the_one_that_has_vllm(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some images have the system's own python3 first in PATH, which cannot read specdec_runtime."""
    python = tmp_path / "python3.12"
    python.touch()
    command = tmp_path / "vllm"
    command.write_text(f"#!{python}\n")
    command.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "version_info", (3, 9, 18))
    monkeypatch.setattr(sys, "argv", [str(folder), "serve", "--model=/m"])
    became: list[list[str]] = []

    def become(_: str, words: list[str]) -> None:
        became.append(words)
        raise SystemExit(0)

    monkeypatch.setattr(os, "execv", become)
    with pytest.raises(SystemExit):
        runpy.run_path(str(folder / "__main__.py"), run_name="__main__")
    assert became == [[str(python), str(folder), "serve", "--model=/m"]]
