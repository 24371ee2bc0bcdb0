"""The dial of engines in one machine: whether answers stay equal, what it costs at rest, and how fast an engine is at
each end of it; runs where vLLM is.

    python -m lab.engine.dial_gpu WORK.json OUT.json

WORK.json: {"models": folder} and the plan of a place in dial_gpu.yaml. Each result is written as soon as it is known.
Standard library only, and what the image has.
"""

import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from lab.engine import server

GRAPHS: Final[Mapping[str, dict[str, Any]]] = {
    "default": {},
    "full": {"compilation_config": {"mode": 0, "cudagraph_mode": "FULL"}},
    "eager": {"enforce_eager": True},
}
"""default: compiled, as vLLM does it. full: not compiled, and each batch in a graph."""
TOKENS: Final = 192
_START: Final = 240.0
_ASK: Final = 120.0
_SMALL: Final = {"max_model_len": 1024, "max_num_seqs": 16, "kv_cache_memory_bytes": 1 << 28}
_TURNS: Final = (0, 1, 0, None, 0, None, 2, 0, None)
"""Values of the dial in turn, while requests run; None: all tokens."""
_EVERY: Final = 6
"""Steps between two changes."""
_SHOWN: Final = 3000
"""Characters of a log that are kept."""
_LLAMA: Final = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "dtype": "bfloat16",
    "hidden_act": "silu",
    "max_position_embeddings": 8192,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "rms_norm_eps": 1e-5,
    "rope_parameters": {"rope_theta": 500000.0, "rope_type": "default"},
    "vocab_size": 128256,
}
"""What the large models share."""


class WorkerError(Exception):
    """A worker ended, or did not answer; the message is the end of its log."""


class GpuWorker:
    """A process of lab.engine.dial_worker. facts: of its engine."""

    def __init__(self, asked: dict[str, Any], runner: str, folder: Path) -> None:
        name = f"{time.monotonic_ns()}"
        self._log = folder / f"{name}.log"
        work = folder / f"{name}.json"
        work.write_text(json.dumps(asked), encoding="utf-8")
        more = server.ONE_PROCESS | ({"VLLM_USE_V2_MODEL_RUNNER": str(int(runner == "V2"))} if runner else {})
        self._process = subprocess.Popen(
            [sys.executable, "-m", "lab.engine.dial_worker", str(work)],
            env=os.environ | more,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log.open("wb"),
            text=True,
        )
        self.facts: dict[str, Any] = {}

    def come_up(self) -> None:
        """Wait for its engine. Raises WorkerError."""
        begun = time.monotonic()
        self.facts = self._read(_START) | {"start_seconds": round(time.monotonic() - begun, 1)}

    def ask(self, do: str, **more: Any) -> dict[str, Any]:
        """Return the answer to one command. Raises WorkerError."""
        assert self._process.stdin is not None
        try:
            print(json.dumps({"do": do, **more}), file=self._process.stdin, flush=True)
        except BrokenPipeError as error:
            raise WorkerError(self._end()) from error
        return self._read(_ASK)

    def _read(self, seconds: float) -> dict[str, Any]:
        assert self._process.stdout is not None
        timer = threading.Timer(seconds, self._process.kill)
        timer.start()
        line = self._process.stdout.readline()
        timer.cancel()
        if not line:
            raise WorkerError(self._end())
        found: dict[str, Any] = json.loads(line)
        return found

    def _end(self) -> str:
        return "\n".join(self._log.read_text(encoding="utf-8", errors="replace").splitlines()[-40:])

    def end(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()


@contextmanager
def working(asked: dict[str, Any], runner: str, folder: Path) -> Iterator[GpuWorker]:
    """Start a worker; end it afterwards."""
    worker = GpuWorker(asked, runner, folder)
    try:
        yield worker
    finally:
        worker.end()


def methods(models: Path) -> dict[str, dict[str, Any]]:
    """The speculative configurations of the tiny models, by name."""
    heads = {"eagle": 3, "eagle3": 3, "medusa": 4, "dflash": 4}
    known = {
        name: {"method": name, "model": str(models / f"head-{name}"), "num_speculative_tokens": tokens}
        for name, tokens in heads.items()
    }
    parallel = {"method": "draft_model", "model": str(models / "draft-pard"), "parallel_drafting": True}
    return known | {
        "draft_model": server.drafting(models),
        "ngram": {"method": "ngram", "num_speculative_tokens": 4},
        "mtp": {"method": "mtp", "num_speculative_tokens": 2},
        "parallel_drafting": parallel | {"num_speculative_tokens": 4},
    }


class DialRuns:
    """The plan of the runs, and the file of their results."""

    def __init__(self, work: dict[str, Any], out: Path) -> None:
        self.work, self.out = work, out
        self.models = Path(work["models"])
        self.found: dict[str, Any] = {}
        self._lock = threading.Lock()

    def note(self, part: str, name: str, result: dict[str, Any]) -> None:
        """Write one result down."""
        with self._lock:
            self.found.setdefault(part, {})[name] = result
            self.out.write_text(json.dumps(self.found, indent=1) + "\n", encoding="utf-8")
            print(f"{part} {name}: {json.dumps(result)[:600]}", flush=True)

    def engine(self, graphs: str, method: dict[str, Any] | None, **more: Any) -> dict[str, Any]:
        """Arguments of vllm.LLM for a tiny target."""
        target = "target-mtp" if method and method["method"] == "mtp" else "target"
        base: dict[str, Any] = {
            "model": str(self.models / target),
            "distributed_executor_backend": "uni",
            **_SMALL,
            **GRAPHS[graphs],
        }
        own: dict[str, Any] = self.work.get("engine", {})
        return base | ({"speculative_config": method} if method else {}) | own | more


def exact(runs: DialRuns, folder: Path) -> None:
    """Hold answers at each value, and through nine changes, against those of the dial at rest, engine by engine."""
    cases: list[list[str]] = runs.work["cases"]
    prompts = json.loads((runs.models / "prompts.json").read_text(encoding="utf-8"))
    texts = [*prompts["code"][:6], *prompts["drift"][:2]]
    answers: dict[str, list[list[int]]] = {}

    def do(case: list[str]) -> None:
        try:
            result = _exact(runs, case, texts, folder)
        except WorkerError as error:
            result = {"failed": str(error)[-_SHOWN:]}
        answers[" ".join(case)] = result.pop("rest", [])
        runs.note("exact", " ".join(case), result)

    with ThreadPoolExecutor(runs.work.get("at_once", 1)) as pool:
        list(pool.map(do, cases))
    for case in cases:
        name, base = " ".join(case), " ".join(["baseline", *case[1:]])
        if answers[name] and answers.get(base) and case[0] not in ("baseline", "mtp"):
            runs.note(
                "exact", name, runs.found["exact"][name] | {"alike_baseline": _alike(answers[name], answers[base])}
            )


def _exact(runs: DialRuns, case: list[str], texts: list[str], folder: Path) -> dict[str, Any]:
    name, runner, graphs, dtype = case
    method = methods(runs.models).get(name)
    engine = runs.engine(graphs, method, dtype=dtype)
    with working({"engine": engine, "dial": method is not None}, runner, folder) as worker:
        worker.come_up()
        result: dict[str, Any] = {"facts": worker.facts}
        most: int = method["num_speculative_tokens"] if method else 0
        rest = worker.ask("answers", prompts=texts, tokens=TOKENS, dial=most)
        result |= {"rest": rest["answers"], "K": _drafted(rest["trace"])}
        if not worker.facts.get("offered"):
            return result
        for tokens in sorted({0, 1, most}):
            got = worker.ask("answers", prompts=texts, tokens=TOKENS, dial=tokens)
            result[f"at_{tokens}"] = {"alike": _alike(got["answers"], rest["answers"]), **_drafted(got["trace"])}
        values = [most if each is None else each for each in _TURNS]
        got = worker.ask("answers", prompts=texts, tokens=TOKENS, turn=[_EVERY, values])
        turned = {"alike": _alike(got["answers"], rest["answers"]), **followed(got["trace"])}
        return result | {"turned": turned}


def _alike(one: list[list[int]], other: list[list[int]]) -> int:
    return sum(each == its for each, its in zip(one, other, strict=True))


def _drafted(trace: list[list[int]]) -> dict[str, Any]:
    """Steps, the most tokens that one verified for a request, and all of them."""
    return {"steps": len(trace), "most": max(each[1] for each in trace), "verified": sum(each[2] for each in trace)}


def followed(trace: list[list[int]]) -> dict[str, Any]:
    """How often the dial changed, and the most steps that verified more than it asked for after it was lowered: one,
    because the step in which it is lowered verifies what was drafted before.
    """
    steps = list(pairwise(trace))
    late, longest = 0, 0
    for before, now in steps:
        above = now[1] > now[0]
        late = late + 1 if above and (late or now[0] < before[0]) else 0
        longest = max(longest, late)
    return {
        "changes": sum(before[0] != now[0] for before, now in steps),
        "lowered": sum(now[0] < before[0] for before, now in steps),
        "steps_late": longest,
    }


def idle(runs: DialRuns, folder: Path) -> None:
    """Time what the hooks take of a step, with the dial at rest."""
    for runner in runs.work["runners"]:
        asked = {"engine": runs.engine(runs.work["graphs"], server.drafting(runs.models)), "dial": True}
        try:
            with working(asked, runner, folder) as worker:
                worker.come_up()
                most = worker.facts["started"]
                blocks = [worker.ask("block", dial=most, **runs.work["idle"]) for _ in range(runs.work["blocks"])]
                result = {"facts": worker.facts, "block": runs.work["idle"], **hooks_of(blocks)}
        except WorkerError as error:
            result = {"failed": str(error)[-_SHOWN:]}
        runs.note("idle", runner, result)


def hooks_of(blocks: list[dict[str, Any]]) -> dict[str, Any]:
    """Return microseconds of the hooks and milliseconds of a step, and the share of the one in the other."""
    shares = [each["hooks_us"] / each["quarters_ms"][1] / 1000 for each in blocks]
    return {
        "hooks_us": quarters([each["hooks_us"] for each in blocks]),
        "step_ms": quarters([each["quarters_ms"][1] for each in blocks]),
        "share": quarters(shares, digits=5),
    }


def quarters(values: list[float], digits: int = 4) -> dict[str, float]:
    """Return the median and the quartiles."""
    low, middle, high = (round(each, digits) for each in statistics.quantiles(values, n=4))
    return {"quarter": low, "median": middle, "three_quarters": high}


def speed(runs: DialRuns, folder: Path) -> None:
    """Time steps of engines side by side on one device, in turn: at each end of the dial, and without speculation."""
    places = large(runs, folder)
    for group in runs.work["groups"]:
        with ExitStack() as stack:
            workers: dict[str, GpuWorker] = {}
            for name, each in group.items():
                asked = {"engine": _large_engine(runs, places, each), "dial": "method" in each}
                workers[name] = stack.enter_context(working(asked, each.get("runner", ""), folder))
            workers = {name: each for name, each in workers.items() if _up(runs, name, each)}
            if next(iter(group)) not in workers:
                continue
            for batch in runs.work["batches"]:
                _rounds(runs, workers, batch)


def large(runs: DialRuns, folder: Path) -> dict[str, str]:
    """Return the folders of the models for speed: those that the plan describes, else the tiny pair."""
    places = {role: str(runs.models / role) for role in ("target", "draft")}
    for role in set(places) & set(runs.work["large"]):
        place = folder / role
        place.mkdir()
        config = _LLAMA | runs.work["large"][role]
        (place / "config.json").write_text(json.dumps(config), encoding="utf-8")
        places[role] = str(place)
    return places


def _large_engine(runs: DialRuns, places: dict[str, str], each: dict[str, Any]) -> dict[str, Any]:
    found = {"model": places["target"], "distributed_executor_backend": "uni", "skip_tokenizer_init": True}
    found |= {"load_format": "dummy", **GRAPHS[runs.work["graphs"]], **runs.work["large"]["engine"]}
    if "method" not in each:
        return found
    method = {"method": each["method"], "num_speculative_tokens": 4, **each.get("more", {})}
    return found | {"speculative_config": method | ({} if each["method"] == "ngram" else {"model": places["draft"]})}


def _up(runs: DialRuns, name: str, worker: GpuWorker) -> bool:
    try:
        worker.come_up()
    except WorkerError as error:
        runs.note("speed", name, {"failed": str(error)[-_SHOWN:]})
        return False
    runs.note("speed", name, {"facts": worker.facts})
    return True


def _rounds(runs: DialRuns, workers: dict[str, GpuWorker], batch: int) -> None:
    """Ask all engines for a block at each value, in random order, round after round."""
    arms = [(name, tokens) for name, each in workers.items() for tokens in _ends(each)]
    found: dict[tuple[str, int], list[float]] = {each: [] for each in arms}
    yields: dict[tuple[str, int], list[float]] = {each: [] for each in arms}
    order = random.Random(batch)  # noqa: S311
    for _ in range(runs.work["rounds"]):
        for arm in order.sample(arms, len(arms)):
            got = workers[arm[0]].ask("block", dial=arm[1], batch=batch, **runs.work["block"])
            found[arm].append(got["quarters_ms"][1])
            yields[arm].append(got["tokens"] / got["steps"] / batch)
    for (name, tokens), steps in found.items():
        result: dict[str, Any] = {
            "engine": name,
            "batch": batch,
            "dial": tokens,
            "ms": quarters(steps),
            "blocks": steps,
        }
        result["tokens_per_step"] = round(statistics.median(yields[name, tokens]), 3)
        if name != next(iter(workers)):
            base = found[next(iter(workers)), -1]
            result["of_baseline"] = quarters([one / other for one, other in zip(base, steps, strict=True)])
        runs.note("speed", f"{name} batch {batch} dial {tokens}", result)


def _ends(worker: GpuWorker) -> list[int]:
    if not worker.facts.get("offered"):
        return [-1]
    return [0, worker.facts["started"]]


def main(work: Path, out: Path) -> None:
    """Do each part; one that fails ends no other."""
    runs = DialRuns(json.loads(work.read_text(encoding="utf-8")), out)
    parts = {"exact": exact, "idle": idle, "speed": speed}
    with tempfile.TemporaryDirectory(prefix="dial-gpu-") as folder:
        for each in runs.work["parts"]:
            begun = time.monotonic()
            try:
                parts[each](runs, Path(folder))
            except WorkerError as error:
                runs.note(each, "failed", {"failed": str(error)[-_SHOWN:]})
            print(f"{each}: {time.monotonic() - begun:.0f} s", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
