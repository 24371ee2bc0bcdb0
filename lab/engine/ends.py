"""Ends the real engine in the ways a pod ends, and notes what the kubelet would see; runs where vLLM is.

python -m lab.engine.ends MODELS OUT.json [NAME...]
"""

import http.client
import json
import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib.metadata import entry_points
from pathlib import Path

import specdec_runtime
from lab.engine import server
from lab.engine.server import EngineServer

_END_SECONDS = 120
_SETTLED = 5.0
_UNDER_WAY = 1.0
_TOKENS = 600
_ENGINE = "VLLM::Engine"
_PLUGIN = "specdec_witness"
_FLAGS = ("--kv-cache-memory-bytes=67108864", "--middleware=specdec_runtime.leaving.Leaving", "--shutdown-timeout=50")
REQUESTS = 4


@dataclass(frozen=True, kw_only=True, slots=True)
class End:
    """What is seen of an end from outside.

    proof: the startup probe's output before. code: of the exit. `said`: the termination message. whole: answers of
    requests under way that came in full. seconds: from the cause to the exit. left: processes that are still there five
    seconds later. first: whether the engine was process 1.
    """

    proof: str
    code: int
    said: str
    whole: int
    seconds: float
    left: int
    first: bool


def stop(engine: EngineServer) -> None:
    """As the kubelet or `docker stop` does."""
    os.kill(engine.inner(), signal.SIGTERM)


def kill(engine: EngineServer) -> None:
    """As the kernel does that is out of memory."""
    os.kill(engine.children(_ENGINE)[0], signal.SIGKILL)


def interrupt(engine: EngineServer) -> None:
    """As a rollout does that is taken back while its pods load their weights."""
    stop(engine)


def crash(engine: EngineServer) -> None:
    """By the bug that the sampling plugin corrects, without that plugin."""
    _ask(engine.port, {"temperature": 0.8, "top_k": 20, "max_tokens": 16})


def _ask(port: int, options: dict[str, object]) -> bool:
    """Send one generation; return whether all of it came."""
    body = {"model": "m", "prompt": "def f(x):\n", "ignore_eos": True, "temperature": 0, "max_tokens": _TOKENS}
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=_END_SECONDS)
    try:
        connection.request("POST", "/v1/completions", json.dumps(body | options), {"Content-Type": "application/json"})
        text = connection.getresponse().read().decode()
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
    return text.rstrip().endswith("[DONE]") and '"finish_reason":"length"' in text.replace(": ", ":")


def ended(models: Path, cause: Callable[[EngineServer], None]) -> End:
    """Start a speculating engine as a pod's first process, put it under load, and end it."""
    flags = server.flags(models / "target", server.drafting(models), _FLAGS)
    with tempfile.TemporaryDirectory(prefix="specdec-ends-", ignore_cleanup_errors=True) as name:
        variables = _pod(Path(name)) | ({"VLLM_PLUGINS": "specdec_witness"} if cause is crash else {})
        with server.started(flags, variables=variables, namespace=True) as engine:
            return _end(engine, cause, _ready(engine, cause))


def _pod(folder: Path) -> dict[str, str]:
    """Return the environment of a pod, with the plugins where the engine's installation does not have them."""
    search = [os.environ.get("PYTHONPATH", ""), str(Path(specdec_runtime.__file__).parents[1])]
    if not any(each.name == _PLUGIN for each in entry_points(group="vllm.general_plugins")):
        info = folder / "plugins" / "specdec_operator-0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: specdec-operator\nVersion: 0\n")
        lines = ["[vllm.general_plugins]", "specdec_cpu_sampling = specdec_runtime.plugin:register"]
        (info / "entry_points.txt").write_text("\n".join([*lines, f"{_PLUGIN} = specdec_runtime.witness:register\n"]))
        search.append(str(info.parent))
    path, words = os.pathsep.join(filter(None, search)), folder / "termination-log"
    return {"PYTHONPATH": path, "TERMINATION_LOG": str(words)}


def _ready(engine: EngineServer, cause: Callable[[EngineServer], None]) -> str:
    """Wait until an end can come, and return the startup probe's output until then."""
    if cause is interrupt:
        while not engine.children(_ENGINE):
            time.sleep(0.1)
        time.sleep(_UNDER_WAY)
        return ""
    # The probe's sampled generation is what the crash is made of.
    engine.must_come_up(prove=cause is not crash)
    return engine.proof


def _end(engine: EngineServer, cause: Callable[[EngineServer], None], proof: str) -> End:
    """Bring an end about while requests are under way."""
    whole: list[bool] = []
    asking = [
        threading.Thread(target=lambda: whole.append(_ask(engine.port, {"stream": True}))) for _ in range(REQUESTS)
    ]
    for each in asking:
        each.start()
    time.sleep(_UNDER_WAY)
    began = time.monotonic()
    cause(engine)
    code = engine.process.wait(_END_SECONDS)
    seconds = round(time.monotonic() - began, 2)
    for each in asking:
        each.join()
    time.sleep(_SETTLED)
    last = Path(engine.environment["TERMINATION_LOG"])
    said, left = last.read_text(encoding="utf-8", errors="replace") if last.exists() else "", len(engine.alive())
    return End(proof=proof, code=code, said=said, whole=sum(whole), seconds=seconds, left=left, first=engine.first)


_CAUSES = {each.__name__: each for each in (stop, interrupt, kill, crash)}


def main(models: Path, out: Path, names: list[str]) -> None:
    """Bring about some ends, or all, and write them down."""
    ends = {name: asdict(ended(models, _CAUSES[name])) for name in names or _CAUSES}
    out.write_text(json.dumps(ends, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:])
