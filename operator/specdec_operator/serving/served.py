"""Which speculation a state asks for: the spec's, with fewer tokens, the last good one, or none."""

import hashlib
import json
from typing import Any

from specdec_operator.api.spec import Spec
from specdec_operator.api.speculation import Speculation
from specdec_operator.guard.state import Good, State

_MOST_REMEMBERED = 1024
"""Characters of a block that is remembered: the status is kept small."""


def served(spec: Spec, state: State) -> Speculation | None:
    """The speculation that the pods are to run; None: plain. One that cannot be read any more is none."""
    if state.plain or spec.speculation is None:
        return None
    if state.rollback is not None and state.rollback.good is not None:
        try:
            return Speculation.model_validate(json.loads(state.rollback.good.block))
        except ValueError:
            return None
    return reduced(spec.speculation, state.reduced.tokens) if state.reduced else spec.speculation


def reduced(speculation: Speculation, tokens: int) -> Speculation:
    """The same with fewer tokens per step, whatever the batch."""
    steps = speculation.tokens_by_batch_size
    fewer = steps and [each.model_copy(update={"tokens": min(each.tokens, tokens)}) for each in steps]
    return speculation.model_copy(update={"tokens": tokens, "tokens_by_batch_size": fewer})


def good_of(speculation: Speculation, state: State, *, tokens: int, rate: float, at: float) -> Good | None:
    """What is served, to be remembered should it pass; None for a block that is too long to be kept."""
    block = json.dumps(written(speculation), sort_keys=True, separators=(",", ":"))
    if len(block) > _MOST_REMEMBERED:
        return None
    digest = hashlib.sha256(block.encode()).hexdigest()[:10]
    return Good(
        block=block,
        digest=digest,
        of=_asked_for(state),
        tokens=tokens,
        rate=round(rate, 2),
        at=at,
    )


def written(speculation: Speculation) -> dict[str, Any]:
    """A speculation as a user writes it."""
    return speculation.model_dump(mode="json", by_alias=True, exclude_none=True)


def _asked_for(state: State) -> str:
    return state.rollback.good.of if state.rollback and state.rollback.good else state.speculation
