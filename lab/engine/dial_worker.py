"""One engine in this process, which does what each line of its input asks; lab.engine.dial_gpu starts it.

    python -m lab.engine.dial_worker ASKED.json

ASKED.json: {"engine": arguments of vllm.LLM, "dial": whether to offer it}. Each answer is a line of JSON too.
"""

import importlib
import json
import logging
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Final

from lab.engine.own_time import OwnTime
from specdec_runtime.dial import files, hooks, plugin

_DRAIN: Final = 10_000
"""Steps after which an engine that does not come to rest is given up."""


class DialWorker:
    """An engine and its dial. trace: of each scheduled step the dial, the most tokens verified, and all of them."""

    def __init__(self, asked: dict[str, Any]) -> None:
        self._vllm: Any = importlib.import_module("vllm")
        self._engine = self._vllm.LLM(**asked["engine"]).llm_engine
        self._core = self._engine.engine_core.engine_core
        self.position: hooks.DialPosition | None = None
        self._own = OwnTime()
        self._asked, self._plain = 0, bool(asked["engine"].get("skip_tokenizer_init"))
        self.trace: list[tuple[int, int, int]] = []
        self.offered = self._offer() if asked["dial"] else {}
        self._started = self.position.tokens if self.position else 0
        self._follow()

    def _offer(self) -> dict[str, Any]:
        """Offer the dial as an engine in a pod does, with its self-test."""
        lines, log, begun = list[str](), logging.getLogger("vllm.specdec"), time.monotonic()
        handler = logging.Handler()
        handler.emit = lambda record: lines.append(record.getMessage())  # type: ignore[method-assign]
        log.addHandler(handler)
        engine = self._core.scheduler, self._core.model_executor.driver_worker.worker.model_runner
        self._own.before_hooks(*engine)
        self.position = plugin.offer(self._core)
        self._own.after_hooks(*engine)
        log.removeHandler(handler)
        return {"offered": self.position is not None, "log": lines, "seconds": round(time.monotonic() - begun, 2)}

    def _follow(self) -> None:
        """Note what each step verifies; the same in engines with and without a dial."""
        schedule = self._core.scheduler.schedule

        def noting(*given: Any, **named: Any) -> Any:
            output = schedule(*given, **named)
            sizes = [len(each) for each in output.scheduled_spec_decode_tokens.values()]
            self.trace.append((self.position.tokens if self.position else -1, max(sizes, default=0), sum(sizes)))
            return output

        self._core.scheduler.schedule = noting

    def facts(self) -> dict[str, Any]:
        """What runs here."""
        torch: Any = importlib.import_module("torch")
        config = self._core.vllm_config
        graphs, scheduler = config.compilation_config, config.scheduler_config
        return {
            "vllm": self._vllm.__version__,
            "torch": torch.__version__,
            "device": torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu",
            "dtype": str(config.model_config.dtype),
            "compilation": str(graphs.mode),
            "graphs": str(graphs.cudagraph_mode),
            "sizes": list(graphs.cudagraph_capture_sizes or ()),
            "async_scheduling": bool(scheduler.async_scheduling),
            "scheduler": type(self._core.scheduler).__name__,
            "started": self._started,
            **self._core.collective_rpc(_runner_facts)[0],
            **self.offered,
        }

    def answers(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Answer prompts greedily, all at once. turn: [steps between two changes, the values in turn]."""
        every, values = asked.get("turn") or (_DRAIN, [asked.get("dial", 0)])
        names = [self._add(text, asked["tokens"]) for text in asked["prompts"]]
        found: dict[str, list[int]] = {}
        self.trace.clear()
        number = 0
        while self._engine.has_unfinished_requests():
            if number % every == 0 and self.position is not None:
                self.position.tokens = values[number // every % len(values)]
            for each in self._engine.step():
                if each.finished:
                    found[each.request_id] = list(each.outputs[0].token_ids)
            number += 1
        return {"answers": [found[name] for name in names], "trace": list(self.trace)}

    def block(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Time steps of as many requests as asked for, at one value of the dial, from the same prompts each time."""
        if self.position is not None:
            self.position.tokens = asked["dial"]
        names = [self._add([3 + number, *range(11, asked["prompt"] + 10)], 4096) for number in range(asked["batch"])]
        for _ in range(asked["warm"]):
            self._engine.step()
        self.trace.clear()
        spent, own, lengths, first = list[float](), list[float](), dict[str, int](), dict[str, int]()
        for _ in range(asked["steps"]):
            self._own.seconds, begun = 0.0, time.perf_counter()
            done = self._engine.step()
            spent.append(time.perf_counter() - begun)
            own.append(self._own.seconds)
            for each in done:
                lengths[each.request_id] = len(each.outputs[0].token_ids)
                first.setdefault(each.request_id, lengths[each.request_id])
        self._rest(names)
        quarters = [round(1000 * each, 4) for each in statistics.quantiles(spent, n=4)]
        return {
            "mean_ms": round(1000 * statistics.fmean(spent), 4),
            "quarters_ms": quarters,
            "hooks_us": round(1e6 * statistics.median(own), 1),
            "tokens": sum(lengths.values()) - sum(first.values()),
            "steps": asked["steps"] - 1,
        }

    def _add(self, prompt: str | list[int], tokens: int) -> str:
        self._asked += 1
        kind, name = self._vllm.SamplingParams, str(self._asked)
        greedy = kind(temperature=0.0, max_tokens=tokens, ignore_eos=True, detokenize=False)
        self._engine.add_request(name, prompt if isinstance(prompt, str) else {"prompt_token_ids": prompt}, greedy)
        return name

    def _rest(self, names: list[str]) -> None:
        """End requests, and what is under way."""
        self._engine.abort_request(names)
        for _ in range(_DRAIN):
            if not (self._core.scheduler.has_requests() or self._core.batch_queue):
                return
            self._core.post_step(self._core.step_fn()[1])
        raise SystemExit("the engine does not come to rest")


def _runner_facts(worker: Any) -> dict[str, Any]:
    runner = worker.model_runner
    groups: Any = getattr(runner, "attn_groups", ())
    names = {each.backend.get_name() for group in groups for each in (group if isinstance(group, list) else [group])}
    return {"runner": type(runner).__module__, "attention": sorted(names)}


def main(asked: Path) -> None:
    """Start the engine, then do what comes. What others print goes to stderr."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    with tempfile.TemporaryDirectory(prefix="dial-") as folder:
        (Path(folder) / "revision").write_text("r1")
        os.environ[files.FOLDER] = folder
        worker = DialWorker(json.loads(asked.read_text(encoding="utf-8")))
        print(json.dumps(worker.facts()), file=answers)
        for line in sys.stdin:
            command = json.loads(line)
            print(json.dumps(getattr(worker, command.pop("do"))(command)), file=answers)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
