"""Starts the engine the way a pod does, asks it, and ends it; runs where vLLM is, standard library only."""

import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from specdec_engine import metrics
from specdec_runtime import family
from specdec_runtime.preflight import device

START_SECONDS: Final = 900
"""On a machine that does much else a start has taken more than 300. What ends by itself is not waited for."""
_PAUSE: Final = 0.5
SMALL: Final = ("--kv-cache-memory-bytes=67108864", "--distributed-executor-backend=uni")
"""As the demo starts it: one process, and a cache that is enough for a few requests."""
ONE_PROCESS: Final = {"VLLM_ENABLE_V1_MULTIPROCESSING": "0"}
_NAMESPACE: Final = ("unshare", "--pid", "--fork", "--mount-proc", "--kill-child")


def flags(target: Path, method: Mapping[str, Any] | None, more: Sequence[str] = SMALL) -> list[str]:
    """vLLM's flags for a tiny model and a speculative configuration."""
    baseline = [f"--model={target}", "--served-model-name=m", "--max-model-len=1024", "--enforce-eager"]
    return [*baseline, *([f"--speculative-config={json.dumps(method, sort_keys=True)}"] if method else []), *more]


def drafting(models: Path) -> dict[str, Any]:
    """The speculative configuration of the tiny pair."""
    return {"method": "draft_model", "model": str(models / "draft"), "num_speculative_tokens": 4}


@dataclass(slots=True, kw_only=True)
class EngineServer:
    """A started engine. proof: the startup probe's last output; ready: seconds from start until it passed.

    device_before: bytes that were taken on the smallest GPU when it was started, None without one. first: whether the
    engine is the first process of a PID namespace of its own, as it is in a container. patience: for an answer.
    """

    port: int
    process: subprocess.Popen[bytes]
    log: Path
    began: float
    environment: Mapping[str, str]
    first: bool = False
    proof: str = ""
    ready: float | None = None
    code: int | None = None
    device_before: int | None = None
    patience: float = 120.0
    notes: dict[str, Any] = field(default_factory=dict)

    def up(self, seconds: float = START_SECONDS, *, prove: bool = True) -> bool:
        """Wait for the startup probe to pass; return whether it did before the process ended or the time was over.

        Without `prove` it only has to be healthy: a generation may kill an engine without the plugins. The probe is a
        program, which is not started for a port that nothing listens on yet.
        """
        healthy = f"import urllib.request as r; r.urlopen('http://127.0.0.1:{self.port}/health')"
        probe = ["-m", "specdec_runtime", "prove", f"--port={self.port}"] if prove else ["-c", healthy]
        while time.monotonic() < self.began + seconds:
            self.code = self.process.poll()
            if self.code is not None:
                return False
            if not self.listens():
                time.sleep(_PAUSE)
                continue
            asked, command = time.monotonic(), [sys.executable, *probe]
            done = subprocess.run(command, env=self.environment, capture_output=True, text=True, check=False)
            self.proof = done.stdout.strip()
            if done.returncode == 0:
                self.ready = time.monotonic() - self.began
                self.notes["prove_seconds"] = round(time.monotonic() - asked, 2)
                if (taken := on_device()) is not None:
                    self.notes["device_memory"] = taken - (self.device_before or 0)
                return True
            time.sleep(_PAUSE)
        return False

    def listens(self) -> bool:
        """Whether its port takes connections."""
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def must_come_up(self, *, prove: bool = True) -> None:
        """Wait for it; raise SystemExit with the end of its log where it does not come up."""
        if not self.up(prove=prove):
            words = "\n".join(self.words(40))
            raise SystemExit(f"vLLM did not come up: {self.proof}; its log ends\n{words}")

    def ask(self, path: str, body: Mapping[str, Any] | None = None) -> str:
        """Return the server's answer. Raises RuntimeError for an answer other than 200."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=self.patience)
        try:
            text = json.dumps(body) if body is not None else None
            connection.request("POST" if body is not None else "GET", path, text, {"Content-Type": "application/json"})
            response = connection.getresponse()
            found = response.read().decode()
        except (OSError, http.client.HTTPException) as error:
            raise RuntimeError(f"{path}: {error!r}") from error
        finally:
            connection.close()
        if response.status != http.client.OK:
            raise RuntimeError(f"{path} was answered with {response.status}: {found[:300]}")
        return found

    def complete(self, prompt: str, tokens: int, **options: Any) -> dict[str, Any]:
        """Return the answer to a prompt: so many tokens, greedily."""
        body = {"model": "m", "prompt": prompt, "max_tokens": tokens, "temperature": 0, "ignore_eos": True}
        found: dict[str, Any] = json.loads(self.ask("/v1/completions", body | options))
        return found

    def counters(self) -> str:
        """Return its metrics as they are now."""
        return self.ask("/metrics")

    def words(self, lines: int = 400) -> list[str]:
        """Return the end of the log."""
        return self.log.read_text(encoding="utf-8", errors="replace").splitlines()[-lines:]

    def memory(self) -> int:
        """Return the resident bytes of the process and its children, as the kernel counts them."""
        return sum(_resident(each) for each in (self.process.pid, *family.descendants(self.process.pid)))

    def inner(self) -> int:
        """Return the engine's own process, as it is numbered here."""
        pid, until = self.process.pid, time.monotonic() + 10
        while self.first and time.monotonic() < until:
            if children := Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
                return int(children[0])
            time.sleep(0.05)
        return pid

    def alive(self) -> list[int]:
        """Return the processes of the engine's session that are not yet gone."""
        known = ((int(folder.name), _stat(folder)) for folder in Path("/proc").glob("[0-9]*"))
        return [pid for pid, words in known if words and int(words[3]) == self.process.pid and words[0] != "Z"]

    def children(self, name: str) -> list[int]:
        """Return the engine's processes whose name begins so."""
        return [pid for pid in self.alive() if Path(f"/proc/{pid}/comm").read_text().startswith(name)]

    def end(self) -> None:
        """End it with all that it started."""
        self.process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(30)
        for pid in self.alive():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait(10)


@contextlib.contextmanager
def started(
    flags: Sequence[str], *, preflight: bool = True, variables: Mapping[str, str] = ONE_PROCESS, namespace: bool = False
) -> Iterator[EngineServer]:
    """Start `specdec_runtime serve`, or the engine without a look at its models; end it with all that it started.

    namespace: whether it is to be the first process of one, where one may be made.
    """
    entry = ("specdec_runtime", "serve") if preflight else ("specdec_runtime.engine",)
    first = namespace and subprocess.run([*_NAMESPACE, "true"], capture_output=True, check=False).returncode == 0
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    # Its own folder for notes, as every pod has one: engines side by side would read each other's.
    with tempfile.TemporaryDirectory(prefix="engine-", ignore_cleanup_errors=True) as notes:
        environment = os.environ | {"OMP_NUM_THREADS": "1", "TMPDIR": notes} | dict(variables)
        log = Path(notes) / "engine.log"
        command = [*(_NAMESPACE if first else ()), sys.executable, "-m", *entry, f"--port={port}", *flags]
        with log.open("wb") as output:
            process = subprocess.Popen(
                command, env=environment, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
            )
        began, before = time.monotonic(), on_device()
        server = EngineServer(
            port=port,
            process=process,
            log=log,
            began=began,
            environment=environment,
            first=first,
            device_before=before,
        )
        try:
            yield server
        finally:
            server.end()


def on_device() -> int | None:
    """Return the bytes that all processes together use on the smallest GPU; None without a GPU."""
    found = device.nvidia()
    return found.total - found.free if found else None


def moved(before: str, after: str) -> dict[str, Any]:
    """Return drafts, drafted and accepted tokens between two looks at the counters, and the share that was accepted;
    None where nothing was drafted.
    """
    names = (metrics.DRAFTS, metrics.DRAFT_TOKENS, metrics.ACCEPTED)
    drafts, drafted, accepted = (
        (metrics.total(after, name) or 0.0) - (metrics.total(before, name) or 0.0) for name in names
    )
    rate = round(accepted / drafted, 4) if drafted else None
    return {"drafts": drafts, "drafted": drafted, "accepted": accepted, "acceptance": rate}


def several(runs: list[dict[str, Any]], do: Callable[[dict[str, Any]], dict[str, Any]], out: Path) -> dict[str, Any]:
    """Return what `do` makes of each run, by its name, in the order of the runs: one for each core at once.

    What came of each is written down as soon as it is known.
    """
    found: dict[str, Any] = {}
    with ThreadPoolExecutor(max_workers=min(2, os.cpu_count() or 1)) as pool:
        under_way = {pool.submit(do, run): run["name"] for run in runs}
        for done in as_completed(under_way):
            found[under_way[done]] = done.result()
            out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return {run["name"]: found[run["name"]] for run in runs}


def _stat(process: Path) -> list[str]:
    """Return the columns of a process's stat after its name: state, parent, group, session; none where it is gone."""
    try:
        return (process / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def _resident(pid: int) -> int:
    try:
        pages = Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1]
    except OSError:
        return 0
    return int(pages) * os.sysconf("SC_PAGE_SIZE")
