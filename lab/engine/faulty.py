"""Starts the engine with each fault and records what caught it, how soon and with which error; runs where vLLM is.

    python -m lab.engine.faulty WORK.json OUT.json

WORK.json: {"prompts": file, "runs": [{"name", "flags", "tokens"}]}. If nothing stops the engine, clients send
requests for a while and its metrics are recorded, for the guard to judge.
"""

import json
import re
import sys
import threading
import time
from pathlib import Path
from typing import Any, Final

from lab.engine import server
from specdec_engine.exit_codes import REFUSED

SAID: Final = re.compile(r"^specdec: (?:refused to start|ended): (\w+): (.*)$")
_LISTENS: Final = "Application startup complete"
SECONDS: Final = 20.0
"""How long clients ask: three windows of six seconds and what it takes to begin."""


def run(flags: list[str], prompts: list[str], tokens: int) -> dict[str, Any]:
    """Start one engine; return what came of it."""
    with server.started(flags) as engine:
        if not engine.up():
            return _stopped(engine)
        scrapes: list[dict[str, Any]] = []
        asked = _ask_for_a_while(engine, prompts, tokens, scrapes)
        if engine.process.poll() is not None:
            return _stopped(engine)
        return {"layer": "guard", "seconds": round(engine.ready or 0.0, 1), "scrapes": scrapes, "answers": asked}


def _stopped(engine: server.EngineServer) -> dict[str, Any]:
    """Return why it is not up: the final error of the runtime, or of the engine."""
    code = engine.process.poll()
    seconds = round(time.monotonic() - engine.began, 1)
    log = engine.words()
    said = next((found for line in reversed(log) if (found := SAID.match(line))), None)
    listened = any(_LISTENS in line for line in log)
    layer = "preflight" if code == REFUSED else "prove" if listened else "start"
    reason, message = said.groups() if said else (None, _error(log))
    return {
        "layer": layer,
        "seconds": seconds,
        "exit": code,
        "reason": reason,
        "message": message,
        "proof": engine.proof,
    }


def _error(log: list[str]) -> str:
    """Return the last line that names an error."""
    return next((line for line in reversed(log) if re.search(r"\w(Error|Exception)\b", line)), "")[-300:]


def _ask_for_a_while(
    engine: server.EngineServer, prompts: list[str], tokens: int, scrapes: list[dict[str, Any]]
) -> int:
    """Send prompts one after the other and look at the metrics each second; return how many were answered."""
    over, answered = threading.Event(), 0

    def look() -> None:
        begun = time.monotonic()
        while not over.wait(max(0.0, begun + len(scrapes) - time.monotonic())):
            scrapes.append({"t": round(time.monotonic() - begun, 2), "pod": "pod-0", **_page(engine)})

    watcher = threading.Thread(target=look)
    watcher.start()
    deadline = time.monotonic() + SECONDS
    try:
        while time.monotonic() < deadline:
            engine.complete(prompts[answered % len(prompts)], tokens)
            answered += 1
    except RuntimeError as error:
        print(f"  {error}", flush=True)
    finally:
        over.set()
        watcher.join()
    return answered


def _page(engine: server.EngineServer) -> dict[str, Any]:
    """Return a scrape's outcome. Whatever it is, the next one is made: the operator goes on, too."""
    try:
        page = engine.counters()
    except RuntimeError as error:
        return {"ok": False, "text": str(error)}
    kept = "\n".join(line for line in page.splitlines() if line.startswith("vllm:"))
    return {"ok": True, "text": kept + "\n"}


def main(work: Path, out: Path) -> None:
    """Run everything that is asked for."""
    asked = json.loads(work.read_text(encoding="utf-8"))
    prompts = json.loads(Path(asked["prompts"]).read_text(encoding="utf-8"))["code"]

    def do(each: dict[str, Any]) -> dict[str, Any]:
        result = run(each["flags"], prompts, each["tokens"])
        print(f"{each['name']}: {result['layer']} {result.get('reason') or ''} {result['seconds']} s", flush=True)
        return result

    found = server.several(asked["runs"], do, out)
    out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
