"""Runs one command where the engine is: inside the runtime image, or with SPECDEC_ENGINE_PYTHON outside of any.

A command sees the machine's network, because it is asked over loopback, and the folders that it is given.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from typing import TYPE_CHECKING

from hack.cluster import shell
from hack.images import content, tool

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

ENGINE_PYTHON = "SPECDEC_ENGINE_PYTHON"
_SOURCE = "/src"
_Variables = Mapping[str, str]
_NAMESPACES = ("--cap-add=CAP_SYS_ADMIN",)


def run(module: Sequence[str], folder: Path, ref: str, *, namespaces: bool = False) -> int:
    """Run `python -m MODULE...` with the repository importable and one folder writable; return its exit code.

    namespaces: whether it may make some of its own, to be the first process of one.
    """
    python = os.environ.get(ENGINE_PYTHON)
    if python:
        return _outside(python, module)
    builder = tool.choose()
    mounts = (
        tool.Mount(source=content.ROOT / "hack", target=f"{_SOURCE}/hack"),
        tool.Mount(source=folder, target=str(folder), writable=True),
    )
    command = ("python3", "-m", *module)
    variables = {"PYTHONPATH": f"{_SOURCE}:/opt/specdec", **_quiet_threads()}
    more = _NAMESPACES if namespaces else ()
    if builder.kind is tool.Kind.BUILDAH:
        return _buildah(ref, command, mounts, variables, more)
    return _engine(builder.kind, ref, command, mounts, variables, more)


def _quiet_threads() -> dict[str, str]:
    """Threads that wait asleep: on a machine that does something else too, waiting ones take most of the time."""
    return {"OMP_WAIT_POLICY": "passive", "GOMP_SPINCOUNT": "0"}


def _outside(python: str, module: Sequence[str]) -> int:
    search = os.pathsep.join((str(content.ROOT), str(content.ROOT / "runtime")))
    environment = os.environ | {"PYTHONPATH": search} | _quiet_threads()
    return subprocess.run([python, "-m", *module], env=environment, cwd=content.ROOT, check=False).returncode


def _engine(
    kind: str,
    ref: str,
    command: Sequence[str],
    mounts: Sequence[tool.Mount],
    variables: _Variables,
    more: Sequence[str],
) -> int:
    """Use docker or podman, as the user who calls, so that what is written belongs to them."""
    options = [f"--volume={mount.option()}" for mount in mounts]
    options += [f"--env={name}={value}" for name, value in variables.items()]
    options += [f"--user={os.getuid()}:{os.getgid()}", "--network=host", "--shm-size=1g", "--entrypoint=env", *more]
    return subprocess.run([kind, "run", "--rm", *options, ref, *command], check=False).returncode


def _buildah(
    ref: str, command: Sequence[str], mounts: Sequence[tool.Mount], variables: _Variables, more: Sequence[str]
) -> int:
    container = shell.run(["buildah", "from", "--pull-never", ref]).strip()
    options = [f"--volume={mount.option()}" for mount in mounts]
    options += [f"--user={os.getuid()}:{os.getgid()}", "--network=host", "--isolation=chroot", *more]
    settings = [f"{name}={value}" for name, value in variables.items()]
    try:
        run = ["buildah", "run", *options, container, "env", *settings, *command]
        return subprocess.run(run, check=False).returncode
    finally:
        shell.ask(["buildah", "rm", container])
