"""An engine as the first process of a PID namespace of its own, as it is in a container; runs where vLLM is.

Where no namespace may be made, it is a process like others, in a session of its own.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING

import specdec_runtime

if TYPE_CHECKING:
    from collections.abc import Sequence

_NAMESPACE = ("unshare", "--pid", "--fork", "--mount-proc", "--kill-child")
_UP_SECONDS = 300
_PLUGIN = "specdec_witness"


class Engine:
    """One engine, started with flags and variables in a folder for temporary files that is its own."""

    def __init__(self, models: Path, folder: Path, flags: Sequence[str], variables: dict[str, str]) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = int(probe.getsockname()[1])
        self.first = subprocess.run([*_NAMESPACE, "true"], capture_output=True, check=False).returncode == 0
        self._folder, self._environment = folder, environment(folder) | variables
        words = [f"--port={self.port}", f"--model={models / 'target'}", "--served-model-name=m", *flags]
        words += ["--max-model-len=1024", "--enforce-eager", "--kv-cache-memory-bytes=67108864"]
        words += ["--middleware=specdec_runtime.leaving.Leaving", "--shutdown-timeout=50"]
        self._outer = subprocess.Popen(
            [*(_NAMESPACE if self.first else ()), sys.executable, "-m", "specdec_runtime", "serve", *words],
            env=self._environment,
            stdout=(folder / "engine.log").open("w"),
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    def inner(self) -> int:
        """Return the engine's own process, as it is numbered here."""
        until = time.monotonic() + 10
        while self.first and time.monotonic() < until:
            if children := Path(f"/proc/{self._outer.pid}/task/{self._outer.pid}/children").read_text().split():
                return int(children[0])
            time.sleep(0.05)
        return self._outer.pid

    def up(self, *, prove: bool = True) -> str:
        """Return the sentence of the startup probe, once it passes; without it, once the server answers at all."""
        healthy = f"import urllib.request as r; r.urlopen('http://127.0.0.1:{self.port}/health')"
        probe = ["-m", "specdec_runtime", "prove", f"--port={self.port}"] if prove else ["-c", healthy]
        until = time.monotonic() + _UP_SECONDS
        while time.monotonic() < until and self._outer.poll() is None:
            command = [sys.executable, *probe]
            done = subprocess.run(command, env=self._environment, capture_output=True, text=True, check=False)
            if done.returncode == 0:
                return done.stdout.strip()
            time.sleep(0.5)
        raise SystemExit(f"vLLM did not come up; the end of its log:\n{self._text('engine.log')[-3000:]}")

    def last_words(self) -> str:
        """Return the termination message, empty where there is none."""
        return self._text("termination-log")

    def _text(self, name: str) -> str:
        path = self._folder / name
        return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""

    def children(self, name: str) -> list[int]:
        """Return the engine's processes whose name begins so."""
        return [pid for pid in self.alive() if Path(f"/proc/{pid}/comm").read_text().startswith(name)]

    def alive(self) -> list[int]:
        """Return the processes of the engine's session that are not yet gone."""
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            words = _stat(folder)
            if words and int(words[3]) == self._outer.pid and words[0] != "Z":
                found.append(int(folder.name))
        return found

    def end(self, seconds: float) -> int:
        """Return the exit code, once the engine has ended by itself."""
        return self._outer.wait(seconds)

    def destroy(self) -> None:
        """End whatever is left."""
        for pid in self.alive():
            os.kill(pid, signal.SIGKILL)


def _stat(process: Path) -> list[str]:
    """Return the columns of a process's stat after its name: state, parent, group, session; none where it is gone."""
    try:
        return (process / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def environment(folder: Path) -> dict[str, str]:
    """Return the environment of a pod, with the plugins where the engine's installation does not have them."""
    search = [os.environ.get("PYTHONPATH", ""), str(Path(specdec_runtime.__file__).parents[1])]
    if not any(each.name == _PLUGIN for each in entry_points(group="vllm.general_plugins")):
        info = folder / "plugins" / "specdec_operator-0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: specdec-operator\nVersion: 0\n")
        lines = ["[vllm.general_plugins]", "specdec_cpu_sampling = specdec_runtime.plugin:register"]
        (info / "entry_points.txt").write_text("\n".join([*lines, f"{_PLUGIN} = specdec_runtime.witness:register\n"]))
        search.append(str(info.parent))
    return os.environ | {
        "PYTHONPATH": os.pathsep.join(filter(None, search)),
        "TMPDIR": str(folder),
        "TERMINATION_LOG": str(folder / "termination-log"),
        "OMP_NUM_THREADS": "1",
    }
