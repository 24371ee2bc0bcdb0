"""Serves the pair with vLLM and measures both kinds of traffic; runs where vLLM is.

    python -m hack.models.measure MODELS OUT.json [--plain]

Prints nothing but progress; the numbers go into the file.
"""

from __future__ import annotations

import http.client
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hack.engine.counted import moved

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_TOKENS = 96
_PROMPTS = 16
_START_SECONDS = 240


def ask(port: int, path: str, body: dict[str, Any] | None = None) -> str:
    """Return what the server says."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    headers = {"Content-Type": "application/json"}
    connection.request("POST" if body else "GET", path, json.dumps(body) if body else None, headers)
    response = connection.getresponse()
    text = response.read().decode()
    connection.close()
    if response.status != http.client.OK:
        raise SystemExit(f"{path} was answered with {response.status}: {text[:300]}")
    return text


@contextmanager
def served(models: Path, method: dict[str, object] | None, *, plugins: bool = True) -> Iterator[tuple[int, float]]:
    """Start a server the way a pod does; yield its port and the seconds until it had proved itself.

    Without plugins it is vLLM as it comes, which a sampled generation may kill: then it only has to be healthy.
    """
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    flags = [f"--port={port}", f"--model={models / 'target'}", "--served-model-name=m", "--max-model-len=1024"]
    flags += ["--enforce-eager", "--kv-cache-memory-bytes=67108864", "--distributed-executor-backend=uni"]
    flags += [f"--speculative-config={json.dumps(method, sort_keys=True)}"] if method else []
    environment = os.environ | {"VLLM_ENABLE_V1_MULTIPROCESSING": "0", "OMP_NUM_THREADS": "1"}
    environment |= {} if plugins else {"VLLM_PLUGINS": "none"}
    started = time.monotonic()
    with tempfile.NamedTemporaryFile("w", prefix="vllm-", suffix=".log", delete=False) as log:
        server = subprocess.Popen(
            [sys.executable, "-m", "specdec_runtime", "serve", *flags],
            env=environment,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        _wait(server, _probe(port) if plugins else _health(port), Path(log.name))
        yield port, time.monotonic() - started
    finally:
        server.terminate()
        server.wait(30)
        Path(log.name).unlink()


def _probe(port: int) -> list[str]:
    return [sys.executable, "-m", "specdec_runtime", "prove", f"--port={port}"]


def _health(port: int) -> list[str]:
    return [sys.executable, "-c", f"import urllib.request as r; r.urlopen('http://127.0.0.1:{port}/health')"]


def _wait(server: subprocess.Popen[bytes], probe: list[str], log: Path) -> None:
    until = time.monotonic() + _START_SECONDS
    while subprocess.run(probe, capture_output=True, check=False).returncode != 0:
        if server.poll() is not None or time.monotonic() > until:
            raise SystemExit(f"vLLM did not come up; the end of its log:\n{log.read_text()[-3000:]}")
        time.sleep(0.5)


def traffic(port: int, prompts: Sequence[str]) -> dict[str, float]:
    """Send prompts one after the other, greedily, and return what they cost and how many drafts were right."""
    before, started, generated = ask(port, "/metrics"), time.monotonic(), 0
    for prompt in prompts:
        body = {"model": "m", "prompt": prompt, "max_tokens": _TOKENS, "temperature": 0, "ignore_eos": True}
        generated += json.loads(ask(port, "/v1/completions", body))["usage"]["completion_tokens"]
    seconds, after = time.monotonic() - started, ask(port, "/metrics")
    found = moved(before, after)
    numbers = {"tokens_per_second": round(generated / seconds, 1)}
    if found["drafted"]:
        numbers |= {"acceptance": found["acceptance"], "drafted": found["drafted"]}
    return numbers


def main(models: Path, out: Path, plain: bool) -> None:
    """Measure the speculating server and, if asked, the plain one."""
    prompts = json.loads((models / "prompts.json").read_text(encoding="utf-8"))
    method = {"method": "draft_model", "model": str(models / "draft"), "num_speculative_tokens": 4}
    proof: dict[str, Any] = {}
    for name, setting in {"speculating": method, "plain": None}.items():
        if name == "plain" and not plain:
            continue
        with served(models, setting) as (port, seconds):
            print(f"{name}: up after {seconds:.1f} s", flush=True)
            traffic(port, prompts["code"][-2:])
            proof[name] = {"start_seconds": round(seconds, 1)}
            proof[name] |= {kind: traffic(port, texts[:_PROMPTS]) for kind, texts in prompts.items()}
    out.write_text(json.dumps(proof, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), "--plain" in sys.argv)
