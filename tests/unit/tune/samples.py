"""Tunings for tests."""

from typing import Any

from tests.unit.measure.samples import running

from specdec_command.measure.answer import Answer
from specdec_command.measure.benchmark import Load
from specdec_command.measure.compare import Drafting
from specdec_command.tune.order import Limits, TuneOrder, TuneRound
from specdec_command.tune.tuning import TuneContext, TuneRepeat, Tuning

SERVICE = {
    "metadata": {"name": "llama", "namespace": "team-a"},
    "spec": {
        "model": {"uri": "hf://meta/llama"},
        "speculation": {"method": "draft_model", "tokens": 4, "draft": {"uri": "hf://meta/draft"}},
        "engine": {"accelerator": "cpu"},
    },
}


def repeat(
    concurrency: int, number: int, tokens: int, seconds: float, per_token: float | None = None, **parts: Any
) -> TuneRepeat:
    """Ten answers of 11 tokens in so many seconds; of a draft of K, position i is accepted in 1 / 2^i of the steps."""
    last = 0.1 + (seconds if per_token is None else 10 * per_token)
    drafts = 100.0 if tokens else 0.0
    positions = tuple(drafts / 2 ** (place + 1) for place in range(tokens))
    given: dict[str, Any] = {
        "turn": TuneRound(number=1, load=Load(concurrency=concurrency), repeat=number, tokens=tokens),
        "seconds": seconds,
        "answers": (Answer(text="ok", tokens=11, prompt_tokens=3, first=0.1, last=last),) * 10,
        "drafting": Drafting(
            drafts=drafts, drafted=drafts * tokens, accepted=sum(positions), generated=110.0, positions=positions
        ),
    }
    return TuneRepeat(**(given | parts))


def repeats(
    concurrency: int,
    seconds: dict[int, float],
    count: int = 8,
    scatter: float = 0.0,
    per_token: dict[int, float] | None = None,
) -> list[TuneRepeat]:
    """Rounds with the seconds of each number of tokens. scatter: by how much every second repeat is longer."""
    return [
        repeat(concurrency, number, tokens, each * (1 + scatter * (number % 2)), (per_token or {}).get(tokens))
        for number in range(1, count + 1)
        for tokens, each in seconds.items()
    ]


def tuning(found: list[TuneRepeat], limits: Limits | None = None, **parts: Any) -> Tuning:
    """A tuning of K = 4; parts: of its context."""
    given: dict[str, Any] = {
        "at": "2026-01-01 00:00:00 UTC",
        "namespace": "team-a",
        "name": "llama",
        "model": "hf://meta/llama",
        "draft": "hf://meta/draft",
        "method": "draft_model",
        "requested": 4,
        "speculation": SERVICE["spec"]["speculation"],
        "kserve": "0.20",
        "running": running(),
    }
    order = TuneOrder(
        source="code",
        prompts=24,
        digest="0123456789ab",
        concurrencies=tuple(sorted({each.turn.load.concurrency or 0 for each in found})),
        tokens=(),
        repeats=8,
        max_tokens=128,
        limits=limits or Limits(),
    )
    context = TuneContext(**(given | parts))
    return Tuning(order=order, context=context, service=SERVICE, repeats=tuple(found), redone=())
