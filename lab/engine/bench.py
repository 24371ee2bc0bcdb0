"""Times each method against the baseline engine, on two kinds of prompts and with several clients; runs where vLLM is.

    python -m lab.engine.bench WORK.json OUT.json

WORK.json: {"models": folder, "groups": [runs as lossless.py's], "rounds", "clients"}. The engines of a group run side
by side and are asked in turn, round after round, so that a machine that changes its speed changes it for all of them.
"""

import http.client
import json
import statistics
import sys
import threading
import time
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, Final

from lab.engine import server
from lab.engine.server import moved

TOKENS: Final = 96
SECONDS: Final = 2.0
"""How long each number of clients asks: about eight answers for one client."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StreamedAnswer:
    """One streamed answer: seconds until its first token and until its last, and how many tokens it had."""

    first: float
    last: float
    tokens: int

    @property
    def per_token(self) -> float:
        """Seconds per output token after the first."""
        return (self.last - self.first) / max(1, self.tokens - 1)


def stream(port: int, prompt: str) -> StreamedAnswer:
    """Ask once, and time the chunks."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    body = {"model": "m", "prompt": prompt, "max_tokens": TOKENS, "temperature": 0, "ignore_eos": True, "stream": True}
    begun, first, last = time.monotonic(), 0.0, 0.0
    connection.request("POST", "/v1/completions", json.dumps(body), {"Content-Type": "application/json"})
    response = connection.getresponse()
    while line := response.readline():
        if line.startswith(b"data: {"):
            last = time.monotonic() - begun
            first = first or last
    connection.close()
    return StreamedAnswer(first=first, last=last, tokens=TOKENS)


def load(port: int, prompts: list[str], clients: int) -> dict[str, float]:
    """Ask with several clients at once; return tokens a second, and medians of the times in milliseconds."""
    answers: list[StreamedAnswer] = []
    number, over = count(), time.monotonic() + SECONDS

    def client() -> None:
        while time.monotonic() < over:
            answers.append(stream(port, prompts[next(number) % len(prompts)]))

    begun = time.monotonic()
    threads = [threading.Thread(target=client) for _ in range(clients)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    spent = time.monotonic() - begun
    return {
        "tokens_per_second": round(sum(each.tokens for each in answers) / spent, 1),
        "tpot_ms": round(1000 * statistics.median(each.per_token for each in answers), 3),
        "ttft_ms": round(1000 * statistics.median(each.first for each in answers), 2),
        "answers": len(answers),
    }


def asked(engine: server.EngineServer, prompts: dict[str, list[str]], clients: list[int]) -> dict[str, Any]:
    """Ask one engine for everything, once."""
    found: dict[str, Any] = {"ready_seconds": round(engine.ready or 0.0, 1), **engine.notes}
    for kind, texts in prompts.items():
        before = engine.counters()
        found[kind] = {str(each): load(engine.port, texts, each) for each in clients}
        found[kind]["counters"] = moved(before, engine.counters())
    return found | {"memory": engine.memory()}


def group(runs: list[dict[str, Any]], work: dict[str, Any], prompts: dict[str, list[str]]) -> list[dict[str, Any]]:
    """Start the engines of a group one after the other, and ask them in turn; return the rounds."""
    with ExitStack() as stack:
        engines: dict[str, server.EngineServer] = {}
        for each in runs:
            engines[each["name"]] = engine = stack.enter_context(server.started(each["flags"]))
            engine.must_come_up()
            for warm in prompts["code"][-2:]:
                stream(engine.port, warm)
            print(f"{each['name']}: up after {engine.ready:.0f} s", flush=True)
        rounds: list[dict[str, Any]] = []
        for number in range(work["rounds"]):
            rounds.append({name: asked(engine, prompts, work["clients"]) for name, engine in engines.items()})
            print(f"round {number + 1} of {', '.join(engines)}", flush=True)
        return rounds


def main(path: Path, out: Path) -> None:
    """Time all groups."""
    work = json.loads(path.read_text(encoding="utf-8"))
    prompts = json.loads((Path(work["models"]) / "prompts.json").read_text(encoding="utf-8"))
    groups: list[list[dict[str, Any]]] = []
    for runs in work["groups"]:
        groups.append(group(runs, work, prompts))
        out.write_text(json.dumps(groups, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
