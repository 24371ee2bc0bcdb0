"""Starts the engine the way a pod does, asks it, and ends it; runs where vLLM is, standard library only."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from specdec_runtime import family

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

START_SECONDS: Final = 240
_ENVIRONMENT: Final = {"VLLM_ENABLE_V1_MULTIPROCESSING": "0", "OMP_NUM_THREADS": "1"}


@dataclass(slots=True, kw_only=True)
class Server:
    """A started engine. proof: what the startup probe said last; ready: seconds from start until it passed."""

    port: int
    process: subprocess.Popen[bytes]
    log: Path
    began: float
    environment: Mapping[str, str]
    proof: str = ""
    ready: float | None = None
    code: int | None = None
    notes: dict[str, Any] = field(default_factory=dict)

    def ask(self, path: str, body: Mapping[str, Any] | None = None) -> str:
        """Return what the server says. Raises RuntimeError for an answer that is none."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        try:
            text = json.dumps(body) if body is not None else None
            connection.request("POST" if body is not None else "GET", path, text, {"Content-Type": "application/json"})
            response = connection.getresponse()
            found = response.read().decode()
        except OSError as error:
            raise RuntimeError(f"{path}: {error!r}") from error
        finally:
            connection.close()
        if response.status != http.client.OK:
            raise RuntimeError(f"{path} was answered with {response.status}: {found[:300]}")
        return found

    def words(self, lines: int = 400) -> list[str]:
        """Return the end of the log."""
        return self.log.read_text(encoding="utf-8", errors="replace").splitlines()[-lines:]

    def memory(self) -> int:
        """Return the resident bytes of the process and its children, as the kernel counts them."""
        return sum(_resident(each) for each in (self.process.pid, *family.descendants(self.process.pid)))


@contextmanager
def started(flags: Sequence[str], *, preflight: bool = True) -> Iterator[Server]:
    """Start `specdec_runtime serve`, or the engine without a look at its models; end it with all that it started."""
    entry = ("specdec_runtime", "serve") if preflight else ("specdec_runtime.engine",)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    # Its own folder for notes, as every pod has one: engines side by side would read each other's.
    with tempfile.TemporaryDirectory(prefix="engine-", ignore_cleanup_errors=True) as notes:
        environment = os.environ | _ENVIRONMENT | {"TMPDIR": notes}
        log = Path(notes) / "engine.log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                [sys.executable, "-m", *entry, f"--port={port}", *flags],
                env=environment,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        server = Server(port=port, process=process, log=log, began=time.monotonic(), environment=environment)
        try:
            yield server
        finally:
            _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(30)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(10)


def wait(server: Server, seconds: float = START_SECONDS) -> bool:
    """Wait for the startup probe to pass; tell whether it did before the process ended or the time was over."""
    command = [sys.executable, "-m", "specdec_runtime", "prove", f"--port={server.port}"]
    deadline = server.began + seconds
    while time.monotonic() < deadline:
        server.code = server.process.poll()
        if server.code is not None:
            return False
        asked = time.monotonic()
        done = subprocess.run(command, env=server.environment, capture_output=True, text=True, check=False)
        server.proof = done.stdout.strip()
        if done.returncode == 0:
            server.ready = time.monotonic() - server.began
            server.notes["prove_seconds"] = round(time.monotonic() - asked, 2)
            return True
        time.sleep(0.5)
    return False


def _resident(pid: int) -> int:
    try:
        pages = Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1]
    except OSError:
        return 0
    return int(pages) * os.sysconf("SC_PAGE_SIZE")
