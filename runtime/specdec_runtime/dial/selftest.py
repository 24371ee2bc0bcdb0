"""Tries the dial in an engine before its first request: the same answer with all tokens, one and none, and as many
drafts as were asked for.

Imported inside vLLM only.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from vllm.sampling_params import SamplingParams  # type: ignore[import-not-found]
from vllm.v1.engine import EngineCoreRequest  # type: ignore[import-not-found]

from specdec_engine.methods import LOOKUPS
from specdec_runtime.dial.hooks import SelfTestError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from specdec_runtime.dial.hooks import DialPosition

SECONDS: Final = 60.0
"""The most that all answers together may take."""
_ANSWER: Final = 12
_PROMPTS: Final = ((11, 12, 13, 14, 15, 16, 17, 18), (31, 33, 35, 37, 39, 41, 43, 45), (50, 54, 58, 62, 66, 70, 74, 78))
"""Each twice over, so that the methods that look drafts up find one. One prompt with equal answers is enough: in
bfloat16 the two best tokens can be equal, and how many positions a step has then decides.
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class TriedAnswer:
    """An answer, and the most tokens that a step verified for it."""

    tokens: tuple[int, ...]
    most: int


def run(core: Any, position: DialPosition, method: str, seconds: float = SECONDS) -> str:
    """Return one sentence on what was tried. Raises SelfTestError, and whatever an engine raises that is broken."""
    started, until = position.tokens, time.monotonic() + seconds
    begun = time.monotonic()
    try:
        for number, ids in enumerate(_PROMPTS):
            if len(set(_answers(core, position, method, ids, until))) == 1:
                return f"{number + 1} prompts in {time.monotonic() - begun:.2f} s"
    finally:
        position.tokens = started
    raise SelfTestError(f"the self-test failed: the answers to {len(_PROMPTS)} prompts changed with the dial")


def _answers(
    core: Any, position: DialPosition, method: str, ids: tuple[int, ...], until: float
) -> Iterator[tuple[int, ...]]:
    """Answer a prompt with each value, and hold what was drafted against it."""
    started = position.tokens
    for tokens in sorted({started, 1, 0}, reverse=True):
        position.tokens = tokens
        found = answer(core, ids, until)
        position.tokens = started
        if found.most > tokens:
            raise SelfTestError(
                f"the self-test failed: with the dial at {tokens}, a step verified {found.most} draft tokens"
            )
        if tokens and not found.most and method not in LOOKUPS:
            raise SelfTestError(f"the self-test failed: with the dial at {tokens}, nothing was drafted")
        yield found.tokens


def answer(core: Any, ids: tuple[int, ...], until: float) -> TriedAnswer:
    """Have an engine answer one prompt greedily, step by step."""
    name, most, got, schedule = f"specdec-dial-{time.monotonic_ns()}", 0, list[int](), core.scheduler.schedule

    def counting(*given: Any, **named: Any) -> Any:
        nonlocal most
        output = schedule(*given, **named)
        most = max(most, *map(len, output.scheduled_spec_decode_tokens.values()), 0)
        return output

    core.scheduler.schedule = counting
    try:
        core.add_request(*core.preprocess_add_request(_request(name, ids)))
        while core.scheduler.has_requests() or core.batch_queue:
            if time.monotonic() > until:
                core.abort_requests([name])
                raise SelfTestError("the self-test took too long")
            got += _step(core)
    finally:
        del core.scheduler.schedule
    return TriedAnswer(tokens=tuple(got), most=most)


def _step(core: Any) -> list[int]:
    outputs, executed = core.step_fn()
    core.post_step(executed)
    return [token for each in (outputs or {}).values() for one in each.outputs for token in one.new_token_ids]


def _request(name: str, ids: tuple[int, ...]) -> Any:
    return EngineCoreRequest(
        request_id=name,
        prompt_token_ids=[*ids, *ids],
        mm_features=None,
        sampling_params=SamplingParams(temperature=0.0, max_tokens=_ANSWER, ignore_eos=True),
        pooling_params=None,
        arrival_time=time.time(),
        lora_request=None,
        # Its own blocks of the prefix cache, so that each answer is computed, and no prompt of a user finds them.
        cache_salt=name,
        data_parallel_rank=None,
    )
