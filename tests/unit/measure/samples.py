"""Measurements for tests of the report."""

from typing import Any

from specdec_command.measure.answer import Answer
from specdec_command.measure.benchmark import BenchmarkOrder, BenchmarkRound, Load, Side, interleaved
from specdec_command.measure.compare import Drafting, Measurement, Repeat
from specdec_command.measure.context import Context, NodeHardware, Running
from specdec_command.measure.requests import GREEDY, Sampling

SPECULATION = '--speculative-config={"method":"draft_model","num_speculative_tokens":4}'


def repeat(
    turn: BenchmarkRound, seconds: float = 1.0, *, text: str = "ok", drafted: float = 100.0, strangers: float = 0.0
) -> Repeat:
    """A repeat of two answers of 11 tokens each, one first token at 0.1 s, the other at 0.3 s."""
    answers = tuple(
        Answer(text=text, tokens=11, prompt_tokens=3, first=first, last=first + seconds) for first in (0.1, 0.3)
    )
    speculating = turn.side is Side.SPECULATING and drafted > 0
    drafting = Drafting(
        drafts=drafted / 4 if speculating else 0.0,
        drafted=drafted if speculating else 0.0,
        accepted=drafted * 0.75 if speculating else 0.0,
        generated=22.0 + strangers,
        positions=(drafted / 4, drafted / 4, drafted / 8, drafted / 8) if speculating else (),
    )
    return Repeat(turn=turn, seconds=seconds, answers=answers, drafting=drafting)


def repeats(
    speculating: tuple[float, ...], baseline: tuple[float, ...], concurrency: int = 1, **more: Any
) -> tuple[Repeat, ...]:
    seconds = {Side.SPECULATING: speculating, Side.BASELINE: baseline}
    turns = interleaved((Load(concurrency=concurrency),), len(baseline))
    return tuple(repeat(turn, seconds[turn.side][turn.repeat - 1], **more) for turn in turns)


def node(**labels: str) -> NodeHardware:
    return NodeHardware(
        readable=True, capacity={"cpu": "8", "nvidia.com/gpu": "1"}, labels=labels, system={"osImage": "Debian"}
    )


def running(*more: str, **parts: Any) -> Running:
    """One side; `more` are further words of its command."""
    given: dict[str, Any] = {
        "pods": 1,
        "command": ("python3", "-m", "vllm", "--model=/mnt/target/model", *more),
        "environment": ("OMP_NUM_THREADS=1",),
        "image": "registry.example/vllm:1",
        "image_id": "sha256:1",
        "resources": {"limits": {"nvidia.com/gpu": "1"}},
        "engine_version": "0.32.0",
        "nodes": (node(),),
        "node_names": frozenset({"one"}),
    }
    return Running(**(given | parts))


def context(**parts: Any) -> Context:
    """A context in which the sides differ by speculation only, each on a node of its own."""
    given: dict[str, Any] = {
        "at": "2026-01-01 00:00:00+00:00",
        "namespace": "team-a",
        "name": "llama",
        "model": "hf://meta/llama",
        "draft": "hf://meta/draft",
        "method": "draft_model",
        "tokens": 4,
        "speculation": {"method": "draft_model", "tokens": 4},
        "guard_mode": "Enforce",
        "kserve": "0.20",
        "speculating": running(SPECULATION),
        "plain": running(node_names=frozenset({"two"})),
    }
    return Context(**(given | parts))


def measurement(
    found: tuple[Repeat, ...],
    *,
    in_place: bool = False,
    redone: tuple[str, ...] = (),
    sampling: Sampling = GREEDY,
    **parts: Any,
) -> Measurement:
    """A measurement of these repeats; parts: of its context."""
    order = BenchmarkOrder(
        source="code",
        prompts=2,
        digest="0123456789ab",
        concurrencies=tuple(dict.fromkeys(each.turn.load.concurrency or 0 for each in found)),
        repeats=max(each.turn.repeat for each in found),
        max_tokens=128,
        in_place=in_place,
        sampling=sampling,
    )
    return Measurement(order=order, context=context(**parts), repeats=found, redone=redone)
