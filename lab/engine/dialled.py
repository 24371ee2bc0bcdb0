"""Turns the dial of running engines by its file, as Kubernetes would write it; runs where vLLM is.

    python -m lab.engine.dialled WORK.json OUT.json

WORK.json: {"models": folder, "runs": [{"name", "flags", "tokens", "version", "dips"}]}. version: what vLLM is to pass
for, for the dial; without it what it is. dips: the share of the steps in dips; without it none, and the dial is turned.
"""

import importlib
import json
import operator
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from lab.engine import server
from specdec_engine import metrics
from specdec_runtime.clock.alone import DIPS
from specdec_runtime.dial import files

TOKENS: Final = 256
CLIENTS: Final = 4
REVISION: Final = "r1"
_FLAGS: Final = ("--middleware=specdec_runtime.facts.Facts",)
_IN_FORCE: Final = 30.0
_BETWEEN: Final = 0.05
"""Seconds between two changes: short, so that requests run through all of them."""
_CLOCK: Final = 1.2
"""Seconds after which the step clock's counters are shown."""
_TIMED: Final = ("steps", "step_seconds", "tokens", "draft_tokens", "accepted_tokens")
_STEPS: Final = ("step_seconds", "steps")
_DIPS: Final = ("dips", "dip_ratios", "dip_squared_ratios")
_ROUNDS: Final = 8
"""How often all prompts are asked for at each value: in turns, so that a machine that slows down slows both."""
_DIPPED: Final = 16
"""Prompts of a turn: four for each client, so that all clients wait at once for most of it."""
_VERSION: Final = "SPECDEC_LAB_VERSION"


class DialFolder:
    """The folder that a pod has mounted. Each setting is a new file under the old name."""

    def __init__(self, folder: Path) -> None:
        self.path = folder
        (folder / "revision").write_text(REVISION)
        self.annotate("")

    def annotate(self, text: str) -> None:
        """Replace the setting."""
        new = self.path / ".setting"
        new.write_text(text)
        new.replace(self.path / "setting")

    def ask(self, tokens: int, number: int) -> None:
        """Ask for so many tokens from now on."""
        known = {"tokens": tokens, "revision": REVISION, "time": time.time(), "decision": f"d{number}"}
        self.annotate(json.dumps(known))


@contextmanager
def dialled(run: dict[str, Any]) -> Iterator[tuple[server.EngineServer, DialFolder]]:
    """Start an engine with the folder mounted."""
    with tempfile.TemporaryDirectory(prefix="dial-") as name:
        folder = DialFolder(Path(name))
        share = {DIPS: str(run.get("dips", 0))}
        variables = server.ONE_PROCESS | {files.FOLDER: name} | share | _passing(run.get("version"), folder.path)
        with server.started([*run["flags"], *_FLAGS], variables=variables) as engine:
            engine.must_come_up()
            yield engine, folder


def _passing(version: str | None, folder: Path) -> dict[str, str]:
    """The environment in which vLLM loads one more plugin, before the dial's."""
    if version is None:
        return {}
    info = folder / "passing-0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: passing\nVersion: 0\n")
    (info / "entry_points.txt").write_text("[vllm.general_plugins]\npassing = lab.engine.dialled:passing\n")
    return {"PYTHONPATH": os.pathsep.join((str(folder), os.environ["PYTHONPATH"])), _VERSION: version}


def passing() -> None:
    """Have vLLM pass for another version."""
    vllm: Any = importlib.import_module("vllm")
    vllm.__version__ = os.environ[_VERSION]


def page(engine: server.EngineServer) -> dict[str, Any]:
    """What the server shows of the dial."""
    found: dict[str, Any] = json.loads(engine.ask("/specdec/dial"))
    return found


def in_force(engine: server.EngineServer, tokens: int) -> float:
    """Wait until the page shows so many tokens; return the seconds. Raises SystemExit if it does not."""
    begun = time.monotonic()
    while (found := page(engine)).get("tokens") != tokens:
        if time.monotonic() > begun + _IN_FORCE:
            raise SystemExit(f"the dial is not at {tokens}: {found}")
        time.sleep(0.005)
    return time.monotonic() - begun


def answers(engine: server.EngineServer, prompts: Sequence[str], meanwhile: Callable[[], None]) -> list[list[int]]:
    """Have several clients ask at once, and do something while they wait; return the token ids of the answers."""
    with ThreadPoolExecutor(CLIENTS) as clients:
        asked = [clients.submit(engine.complete, each, TOKENS, return_token_ids=True) for each in prompts]
        meanwhile()
        return [each.result()["choices"][0]["token_ids"] for each in asked]


def turned(engine: server.EngineServer, folder: DialFolder, values: Sequence[int]) -> dict[str, Any]:
    """Go through some values, and note how soon each was in force and what was drafted meanwhile."""
    notes: list[dict[str, Any]] = []

    def turn() -> None:
        for number, tokens in enumerate(values):
            folder.ask(tokens, number)
            seconds, before = in_force(engine, tokens), engine.counters()
            time.sleep(_BETWEEN)
            notes.append({"tokens": tokens, "seconds": round(seconds, 3), **server.moved(before, engine.counters())})

    return {"do": turn, "notes": notes}


def run(asked: dict[str, Any], prompts: dict[str, list[str]]) -> dict[str, Any]:
    """Start one engine; ask it with the dial at rest, at each end, and while it is turned nine times."""
    texts, most = [*prompts["code"][:6], *prompts["drift"][:2]], asked["tokens"]
    with dialled(asked) as (engine, folder):
        first = page(engine)
        found: dict[str, Any] = {"page": first, "log": [each for each in engine.words() if "specdec:" in each]}
        rest = answers(engine, texts, lambda: None)
        if not first["offered"]:
            return found | {"answered": len(rest)}
        found["arms"] = {
            str(tokens): _arm(engine, folder, texts, rest, tokens) for tokens in sorted({0, 1, most - 1, most})
        }
        turning = turned(engine, folder, (0, 1, 0, most, 0, most, min(2, most), 0, most))
        got = answers(engine, texts, turning["do"])
        found["switches"] = turning["notes"]
        found["switched_alike"] = sum(one == other for one, other in zip(got, rest, strict=True))
        return found | _refused(engine, folder)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """Token ids of the answers at one value of the dial, and the page of metrics before and after."""

    answers: list[list[int]]
    before: str
    after: str

    def clocked(self, name: str, **labels: object) -> float:
        """What a counter of the step clock counted meanwhile, over all kinds that have these labels."""
        return _clocked(self.after, name, **labels) - _clocked(self.before, name, **labels)


def _asked_at(engine: server.EngineServer, folder: DialFolder, texts: Sequence[str], tokens: int, number: int) -> Asked:
    """Turn the dial and ask for all texts once it is in force. number: of the setting."""
    folder.ask(tokens, number)
    in_force(engine, tokens)
    time.sleep(_CLOCK)
    before = engine.counters()
    got = answers(engine, texts, lambda: None)
    time.sleep(_CLOCK)
    return Asked(answers=got, before=before, after=engine.counters())


def _arm(
    engine: server.EngineServer, folder: DialFolder, texts: list[str], rest: list[list[int]], tokens: int
) -> dict[str, Any]:
    seen = _asked_at(engine, folder, texts, tokens, tokens)
    alike = sum(one == other for one, other in zip(seen.answers, rest, strict=True))
    timed = {name: seen.clocked(name, tokens=tokens) for name in _TIMED}
    before, after = (metrics.total(each, metrics.GENERATED) or 0.0 for each in (seen.before, seen.after))
    return {"alike": alike, "timed": timed, "generated": after - before, **server.moved(seen.before, seen.after)}


def _clocked(page: str, name: str, **labels: object) -> float:
    """A counter of the step clock, summed up over all kinds that have these labels."""
    wanted = [f'{label}="{value}"' for label, value in labels.items()]
    lines = (line for line in page.splitlines() if all(each in line for each in wanted))
    return metrics.total("\n".join(lines), f"{metrics.CLOCK}{name}_total") or 0.0


def dipped(asked: dict[str, Any], prompts: dict[str, list[str]]) -> dict[str, Any]:
    """Start one engine that dips often; hold its answers against those at nothing, and its dips against the time that a
    step takes there, at the batch of all clients.
    """
    texts, most = prompts["code"][:_DIPPED], asked["tokens"]
    with dialled(asked) as (engine, folder):
        rest = answers(engine, texts, lambda: None)  # the first answers of an engine are slow
        off, on, alike = _Seen(), _Seen(), 0
        for number in range(_ROUNDS):
            off.plus(engine, folder, texts, 0, 2 * number)
            alike += sum(map(operator.eq, on.plus(engine, folder, texts, most, 2 * number + 1), rest))
    return {"alike": alike, "at_rest": off.sums["dips"], "ratio": off.step / on.step, **on.sums}


def _counted(page: str, tokens: int) -> dict[str, float]:
    """At one value of the dial and the batch of all clients: steps, dips at nothing; other_…: dips at fewer tokens."""
    kind = {"tokens": tokens, "batch": CLIENTS}
    found = {name: _clocked(page, name, prompt="false", **kind) for name in _STEPS}
    for name in _DIPS:
        found[name] = _clocked(page, name, dip=0, **kind)
        found[f"other_{name}"] = sum(_clocked(page, name, dip=dip, **kind) for dip in range(1, tokens))
    return found


class _Seen:
    """What was counted at one value of the dial, at the batch of all clients."""

    def __init__(self) -> None:
        self.sums: dict[str, float] = {}

    @property
    def step(self) -> float:
        """Seconds of a step."""
        return self.sums["step_seconds"] / self.sums["steps"]

    def plus(
        self, engine: server.EngineServer, folder: DialFolder, texts: list[str], tokens: int, number: int
    ) -> list[list[int]]:
        """Turn the dial, ask once more, and add what was counted; return the answers."""
        seen = _asked_at(engine, folder, texts, tokens, number)
        before, after = (_counted(each, tokens) for each in (seen.before, seen.after))
        self.sums = {name: self.sums.get(name, 0.0) + after[name] - before[name] for name in after}
        return seen.answers


def _refused(engine: server.EngineServer, folder: DialFolder) -> dict[str, Any]:
    """Write garbage; return what the page shows, and that the engine still answers."""
    folder.annotate("x" * 200_000)
    until = time.monotonic() + _IN_FORCE
    while "refused" not in (found := page(engine)) and time.monotonic() < until:
        time.sleep(0.01)
    return {"refused": found.get("refused"), "after": len(answers(engine, ["def f(x):\n"], lambda: None))}


def main(work: Path, out: Path) -> None:
    """Turn the dial of everything that is asked for."""
    asked = json.loads(work.read_text(encoding="utf-8"))
    prompts = json.loads((Path(asked["models"]) / "prompts.json").read_text(encoding="utf-8"))

    def do(each: dict[str, Any]) -> dict[str, Any]:
        result = dipped(each, prompts) if each.get("dips") else run(each, prompts)
        print(f"{each['name']}: {json.dumps(result)[:400]}", flush=True)
        return result

    server.several(asked["runs"], do, out)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
