"""What a dial at rest and the step clock cost: steps of one engine with the hooks in and out, in turn; runs where
vLLM is.

    python -m lab.engine.dial_cost MODELS OUT.json

Each pair is two blocks of steps of the same requests, in random order. Times are those of the engine's thread on its
core, so that what else a machine does is not counted.
"""

import importlib
import json
import os
import random
import statistics
import sys
import time
from pathlib import Path
from typing import Any, Final

from lab.engine import server
from specdec_runtime.clock.dips import Dips
from specdec_runtime.clock.hooks import StepClock
from specdec_runtime.dial import files, hooks, watch
from specdec_runtime.dial.state import DialledPod

PAIRS: Final = 40
STEPS: Final = 60
_REQUESTS: Final = 4
_TOKENS: Final = 900
_WARM: Final = 10
_LOOKS: Final = 2000


class CostEngine:
    """An engine in this process, with requests that never end."""

    def __init__(self, models: Path) -> None:
        vllm: Any = importlib.import_module("vllm")
        method = server.drafting(models)
        self.way = hooks.DialWay(started=method["num_speculative_tokens"], skip=True, cut=False)
        small = {"max_model_len": 1024, "enforce_eager": True, "kv_cache_memory_bytes": 1 << 26}
        llm = vllm.LLM(
            model=str(models / "target"), speculative_config=method, distributed_executor_backend="uni", **small
        )
        self._engine = llm.llm_engine
        self._greedy = vllm.SamplingParams(temperature=0.0, max_tokens=_TOKENS, ignore_eos=True, detokenize=False)
        self._prompts = json.loads((models / "prompts.json").read_text(encoding="utf-8"))["code"]
        self._asked = 0
        self._clock: StepClock | None = None
        self.core = self._engine.engine_core.engine_core

    def turn(self, on: bool) -> None:
        """Put the hooks in or take them out."""
        if not on:
            if self._clock is not None:
                self._clock.remove("")
            hooks.off_scheduler(self.core.scheduler)
            self.core.collective_rpc(hooks.off_worker)
            return
        output = importlib.import_module("vllm.v1.core.sched.output").SchedulerOutput
        position = hooks.on_scheduler(self.core.scheduler, self.way, output)
        if missing := [each for each in self.core.collective_rpc(hooks.on_worker, args=(self.way,)) if each]:
            raise SystemExit(missing[0])
        self._clock = StepClock(self.core.scheduler, position, Dips(random.random, 0.0))
        self._clock.install()

    def block(self) -> float:
        """Return the median seconds of a step."""
        spent: list[float] = []
        for number in range(_WARM + STEPS):
            while self._engine.get_num_unfinished_requests() < _REQUESTS:
                self._asked += 1
                prompt = self._prompts[self._asked % len(self._prompts)]
                self._engine.add_request(str(self._asked), prompt, self._greedy)
            begun = time.thread_time()
            self._engine.step()
            if number >= _WARM:
                spent.append(time.thread_time() - begun)
        return statistics.median(spent)


def look() -> float:
    """Return the seconds of one look of the thread at a file that does not change."""
    position = hooks.DialPosition(tokens=4, drafted=4)
    thread = watch.DialWatch(DialledPod(started=4, revision="r"), position)
    begun = time.thread_time()
    for _ in range(_LOOKS):
        thread.look()
    return (time.thread_time() - begun) / _LOOKS


def main(models: Path, out: Path) -> None:
    """Measure all pairs; print and write the ratios."""
    os.environ |= server.ONE_PROCESS
    engine, order, ratios, steps = CostEngine(models), random.Random(1), list[float](), list[float]()  # noqa: S311
    for _ in range(PAIRS):
        found: dict[bool, float] = {}
        for on in order.sample((True, False), 2):
            engine.turn(on)
            found[on] = engine.block()
            engine.turn(on=False)
        ratios.append(found[True] / found[False])
        steps.append(found[False])
    low, middle, high = statistics.quantiles(ratios, n=4)
    result = {
        "pairs": PAIRS,
        "steps": STEPS,
        "step_ms": round(1000 * statistics.median(steps), 3),
        "ratio": {"quarter": round(low, 4), "median": round(middle, 4), "three_quarters": round(high, 4)},
        "look_us": round(1e6 * look(), 2),
        "looks_per_second": 1 / watch.PAUSE,
        "folder": str(files.folder()),
    }
    print(json.dumps(result), flush=True)
    out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
