"""Runs one command where the engine is: inside the runtime image, or with SPECDEC_ENGINE_PYTHON outside of any.

A command sees the machine's network, because it is asked over loopback, and the folders that it is given.
"""

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from hack.cluster.errors import ClusterError
from hack.images import content, tool

ENGINE_PYTHON = "SPECDEC_ENGINE_PYTHON"
SOURCE = "/src"
_NAMESPACES = ("--cap-add=CAP_SYS_ADMIN",)
# Threads that wait asleep: on a machine that does something else too, waiting ones take most of the time.
_QUIET_THREADS = {"OMP_WAIT_POLICY": "passive", "GOMP_SPINCOUNT": "0"}


def run(module: Sequence[str], folder: Path, ref: str, *, namespaces: bool = False, devices: bool = False) -> int:
    """Run `python -m MODULE...` with the repository importable and one folder writable; return its exit code.

    namespaces: whether it may make some of its own, to be the first process of one. devices: whether it needs the
    machine's GPUs, which buildah cannot give it: ClusterError.
    """
    python = os.environ.get(ENGINE_PYTHON)
    if python:
        return _outside(python, module)
    options = [*sources(), f"--volume={folder}:{folder}"]
    # As the user who calls, so that what is written belongs to them.
    options += [f"--user={os.getuid()}:{os.getgid()}", "--network=host", *(_NAMESPACES if namespaces else ())]
    variables = {"PYTHONPATH": f"{SOURCE}:/opt/specdec", **_QUIET_THREADS}
    words = [*(f"{name}={value}" for name, value in variables.items()), "python3", "-m", *module]
    builder = tool.choose()
    if devices:
        options.append(_gpus(builder))
    if builder.kind is tool.ImageTool.BUILDAH:
        with tool.container("--pull-never", ref) as name:
            command = ["buildah", "run", *options, "--isolation=chroot", name, "env", *words]
            return subprocess.run(command, check=False).returncode
    command = [builder.kind, "run", "--rm", *options, "--shm-size=1g", "--entrypoint=env", ref, *words]
    return subprocess.run(command, check=False).returncode


def sources() -> tuple[str, ...]:
    """Options of a builder's run that mount the repository's own tools, read-only, below SOURCE."""
    return tuple(f"--volume={content.ROOT / name}:{SOURCE}/{name}:ro" for name in ("hack", "lab"))


def _gpus(builder: tool.Tool) -> str:
    if builder.kind is tool.ImageTool.BUILDAH:
        raise ClusterError("a run on GPUs needs docker or podman with NVIDIA's container toolkit: buildah gives none")
    return "--gpus=all" if builder.kind is tool.ImageTool.DOCKER else "--device=nvidia.com/gpu=all"


def _outside(python: str, module: Sequence[str]) -> int:
    search = os.pathsep.join((str(content.ROOT), str(content.ROOT / "runtime")))
    environment = os.environ | {"PYTHONPATH": search} | _QUIET_THREADS
    return subprocess.run([python, "-m", *module], env=environment, cwd=content.ROOT, check=False).returncode
