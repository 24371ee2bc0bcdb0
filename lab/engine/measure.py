"""Serves the pair with vLLM and measures both kinds of traffic; runs where vLLM is.

    python -m lab.engine.measure MODELS OUT.json [--plain]

Prints nothing but progress; the numbers go into the file.
"""

import json
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lab.engine import server

_TOKENS = 96
_PROMPTS = 16


@contextmanager
def served(models: Path, method: dict[str, Any] | None, *, plugins: bool = True) -> Iterator[server.EngineServer]:
    """Start the pair's target, and wait until it has proved itself; without plugins it is vLLM as it comes."""
    variables = server.ONE_PROCESS | ({} if plugins else {"VLLM_PLUGINS": "none"})
    with server.started(server.flags(models / "target", method), variables=variables) as engine:
        engine.must_come_up(prove=plugins)
        yield engine


def traffic(engine: server.EngineServer, prompts: Sequence[str]) -> dict[str, float]:
    """Send prompts one after the other, greedily, and return what they cost and how many drafts were right."""
    before, started = engine.counters(), time.monotonic()
    generated = sum(engine.complete(each, _TOKENS)["usage"]["completion_tokens"] for each in prompts)
    seconds, after = time.monotonic() - started, engine.counters()
    found = server.moved(before, after)
    numbers = {"tokens_per_second": round(generated / seconds, 1)}
    if found["drafted"]:
        numbers |= {"acceptance": found["acceptance"], "drafted": found["drafted"]}
    return numbers


def main(models: Path, out: Path, baseline: bool) -> None:
    """Measure the speculating server and, if requested, the baseline."""
    prompts = json.loads((models / "prompts.json").read_text(encoding="utf-8"))
    proof: dict[str, Any] = {}
    for name, setting in {"speculating": server.drafting(models), "plain": None}.items():
        if name == "plain" and not baseline:
            continue
        with served(models, setting) as engine:
            print(f"{name}: up after {engine.ready:.1f} s", flush=True)
            traffic(engine, prompts["code"][-2:])
            proof[name] = {"start_seconds": round(engine.ready or 0.0, 1)}
            proof[name] |= {kind: traffic(engine, texts[:_PROMPTS]) for kind, texts in prompts.items()}
    out.write_text(json.dumps(proof, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), "--plain" in sys.argv)
