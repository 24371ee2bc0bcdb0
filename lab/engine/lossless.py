"""Runs each method and compares its greedy answers to the baseline engine's, token by token; runs where vLLM is.

    python -m lab.engine.lossless WORK.json OUT.json

WORK.json: {"models": folder, "runs": [{"name", "base", "flags", "preflight"}]}; a run without a base is one.
"""

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

from lab.engine import server
from lab.engine.server import moved

PROMPTS: Final = 20
TOKENS: Final = 96
_DRIFT: Final = 10
_AT_ONCE: Final = 4
_CROWD: Final = 8


def answers(engine: server.EngineServer, prompts: list[str]) -> list[list[int]]:
    """Return the token ids of greedy answers, one prompt after the other."""
    said = [engine.complete(each, TOKENS, return_token_ids=True) for each in prompts]
    return [each["choices"][0]["token_ids"] for each in said]


def run(asked: dict[str, Any], prompts: dict[str, list[str]]) -> dict[str, Any]:
    """Start one engine and ask it; of a start that fails, return the engine's log."""
    with server.started(asked["flags"], preflight=asked.get("preflight", True)) as engine:
        if not engine.up():
            return {"exit": engine.code, "proof": engine.proof, "log": engine.words()}
        before = engine.counters()
        code = answers(engine, prompts["code"][:PROMPTS])
        between = engine.counters()
        drift = answers(engine, prompts["drift"][:_DRIFT])
        after = engine.counters()
        with ThreadPoolExecutor(_AT_ONCE) as clients:
            crowd = list(clients.map(lambda each: answers(engine, [each]), prompts["code"][:_CROWD]))
        return {
            "ready_seconds": round(engine.ready or 0.0, 1),
            "proof": engine.proof,
            "memory": engine.memory(),
            "answers": code + drift,
            "code": moved(before, between),
            "drift": moved(between, after),
            "crowd": moved(after, engine.counters()),
            "crowd_alike": sum(each == [alone] for each, alone in zip(crowd, code, strict=False)),
            **engine.notes,
        }


def main(work: Path, out: Path) -> None:
    """Run everything that is asked for, then hold the answers against those of the plain engines."""
    asked = json.loads(work.read_text(encoding="utf-8"))
    prompts = json.loads((Path(asked["models"]) / "prompts.json").read_text(encoding="utf-8"))
    found = server.several(asked["runs"], lambda each: _told(each["name"], run(each, prompts)), out)
    for each in asked["runs"]:
        compare(found[each["name"]], found.get(each.get("base") or "", {}))
    for result in found.values():
        result.pop("answers", None)
    out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def compare(result: dict[str, Any], base: dict[str, Any]) -> None:
    """Count the answers that equal the base's."""
    if "answers" in result and "answers" in base:
        same = [one == other for one, other in zip(result["answers"], base["answers"], strict=True)]
        result["identical"], result["compared"] = sum(same), len(same)


def _told(name: str, result: dict[str, Any]) -> dict[str, Any]:
    known = {key: result[key] for key in ("ready_seconds", "code", "proof", "exit") if key in result}
    print(f"{name}: {json.dumps(known)}", flush=True)
    return result


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
