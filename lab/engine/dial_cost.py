"""What a dial at rest and the step clock cost: the time of the hooks themselves in each step of an engine; runs where
vLLM is.

    python -m lab.engine.dial_cost MODELS OUT.json

Timed is each hook, less what it calls of vLLM. Whole steps with the hooks in and out differ by more from one block to
the next than by the hooks.
"""

import importlib
import json
import os
import random
import statistics
import sys
import time
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, Final

from lab.engine import server
from specdec_runtime.clock.dips import Dips
from specdec_runtime.clock.hooks import StepClock
from specdec_runtime.dial import hooks, watch
from specdec_runtime.dial.state import DialledPod

STEPS: Final = 2000
BATCHES: Final = (1, 4, 8)
_TOKENS: Final = 900
_WARM: Final = 20
_LOOKS: Final = 2000
_OF_SCHEDULER: Final = ("schedule", "update_from_output", "_update_after_schedule", "update_draft_token_ids")
_OF_RUNNER: Final = ("execute_model", "_input_fits_in_drafter", "propose_draft_token_ids")


class OwnTime:
    """seconds: that hooks took since the last step, without what they called of vLLM."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def counted(self, function: Callable[..., Any], sign: int) -> Callable[..., Any]:
        """Return a function whose time is added, or with a sign of -1 taken away."""

        @wraps(function)
        def call(*given: Any, **named: Any) -> Any:
            begun = time.perf_counter()
            try:
                return function(*given, **named)
            finally:
                self.seconds += sign * (time.perf_counter() - begun)

        return call

    def inside(self, owner: Any, names: tuple[str, ...]) -> None:
        """Take away what vLLM's own methods take. Before the hooks are put around them."""
        for name in names:
            setattr(type(owner), name, self.counted(getattr(type(owner), name), -1))

    def outside(self, owner: Any, names: tuple[str, ...]) -> None:
        """Count the hooks, with all that they call."""
        for name in set(names) & vars(owner).keys():
            setattr(owner, name, self.counted(vars(owner)[name], 1))


class CostEngine:
    """An engine in this process with the dial and the clock, whose requests never end."""

    def __init__(self, models: Path) -> None:
        vllm: Any = importlib.import_module("vllm")
        method = server.drafting(models)
        way = hooks.DialWay(started=method["num_speculative_tokens"], skip=True, cut=False)
        small = {"max_model_len": 1024, "enforce_eager": True, "kv_cache_memory_bytes": 1 << 26}
        llm = vllm.LLM(
            model=str(models / "target"), speculative_config=method, distributed_executor_backend="uni", **small
        )
        self._engine = llm.llm_engine
        self._greedy = vllm.SamplingParams(temperature=0.0, max_tokens=_TOKENS, ignore_eos=True, detokenize=False)
        self._prompts = json.loads((models / "prompts.json").read_text(encoding="utf-8"))["code"]
        self._asked = 0
        self._own = OwnTime()
        self._install(way)

    def _install(self, way: hooks.DialWay) -> None:
        core = self._engine.engine_core.engine_core
        runner = core.model_executor.driver_worker.worker.model_runner
        for owner, names in ((core.scheduler, _OF_SCHEDULER), (runner, _OF_RUNNER)):
            self._own.inside(owner, names)
        output = importlib.import_module("vllm.v1.core.sched.output").SchedulerOutput
        position = hooks.on_scheduler(core.scheduler, way, output)
        if missing := [each for each in core.collective_rpc(hooks.on_worker, args=(way,)) if each]:
            raise SystemExit(missing[0])
        StepClock(core.scheduler, position, Dips(random.random)).install()
        for owner, names in ((core.scheduler, _OF_SCHEDULER), (runner, _OF_RUNNER)):
            self._own.outside(owner, names)

    def steps(self, batch: int) -> dict[str, float]:
        """Return microseconds of the hooks in a step, milliseconds of a step, and the share of the one in the other."""
        own, whole = list[float](), list[float]()
        for number in range(_WARM + STEPS):
            while self._engine.get_num_unfinished_requests() < batch:
                self._asked += 1
                prompt = self._prompts[self._asked % len(self._prompts)]
                self._engine.add_request(str(self._asked), prompt, self._greedy)
            self._own.seconds, begun = 0.0, time.perf_counter()
            self._engine.step()
            if number >= _WARM:
                whole.append(time.perf_counter() - begun)
                own.append(self._own.seconds)
        hooks_us, step_ms = 1e6 * statistics.median(own), 1e3 * statistics.median(whole)
        return {
            "batch": batch,
            "hooks_us": round(hooks_us, 1),
            "mean_us": round(1e6 * statistics.fmean(own), 1),
            "step_ms": round(step_ms, 2),
            "share": round(hooks_us / step_ms / 1e3, 5),
        }


def look() -> float:
    """Return the seconds of one look of the thread at a file that does not change."""
    position = hooks.DialPosition(tokens=4, drafted=4)
    thread = watch.DialWatch(DialledPod(started=4, revision="r"), position)
    begun = time.thread_time()
    for _ in range(_LOOKS):
        thread.look()
    return (time.thread_time() - begun) / _LOOKS


def main(models: Path, out: Path) -> None:
    """Measure all batches; print and write what was found."""
    os.environ |= server.ONE_PROCESS
    engine = CostEngine(models)
    result = {
        "batches": [engine.steps(batch) for batch in BATCHES],
        "steps": STEPS,
        "look_us": round(1e6 * look(), 2),
        "looks_per_second": 1 / watch.PAUSE,
    }
    print(json.dumps(result), flush=True)
    out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
