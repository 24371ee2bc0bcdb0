"""The measurement as JSON: the figures, every repeat behind them, and the context."""

import hashlib
from dataclasses import asdict
from typing import Any

from specdec_operator.measure.compare import Level, Repeat
from specdec_operator.measure.measurement import Measurement
from specdec_operator.measure.notes import notes
from specdec_operator.measure.order import WARM_UPS, sampling

VERSION = 1
"""Of the document's shape."""


def document(found: Measurement) -> dict[str, Any]:
    """Everything. Times in seconds, shares from 0 to 1, ratios above 1 where speculation is faster."""
    context = asdict(found.context)
    for side in ("speculating", "plain"):
        del context[side]["node_names"]
    return {
        "version": VERSION,
        "order": asdict(found.order),
        "request": sampling(found.order.max_tokens),
        "warm_ups": WARM_UPS,
        "context": context,
        "notes": list(notes(found)),
        "levels": [_level(each) for each in found.levels],
        "repeats": [_repeat(each) for each in found.repeats],
    }


def _level(level: Level) -> dict[str, Any]:
    """The figures of a level, with what follows from them."""
    made = asdict(level)
    for name in ("first_token", "per_token", "tokens_per_second"):
        if made[name] is not None:
            made[name]["resolved"] = getattr(level, name).resolved
    for name in ("equal", "plain_again"):
        made[name]["share"] = getattr(level, name).share
    for side in ("speculating", "plain"):
        drafting = getattr(level, side).drafting
        made[side]["drafting"] |= {
            "rate": drafting.rate,
            "length": drafting.length,
            "by_position": list(drafting.by_position),
        }
    return made


def _repeat(repeat: Repeat) -> dict[str, Any]:
    """One repeat, each answer's times with it; of the texts only what tells one from another: they may be private."""
    return {
        "side": repeat.turn.side.value,
        "concurrency": repeat.turn.concurrency,
        "repeat": repeat.turn.repeat,
        "seconds": repeat.seconds,
        "tokens_per_second": repeat.tokens_per_second,
        "first_token": repeat.first_token,
        "per_token": repeat.per_token,
        "drafting": asdict(repeat.drafting),
        "answers": [
            {
                "tokens": each.tokens,
                "prompt_tokens": each.prompt_tokens,
                "first": each.first,
                "last": each.last,
                "characters": len(each.text),
                "digest": hashlib.sha256(each.text.encode()).hexdigest()[:12],
            }
            for each in repeat.answers
        ],
    }
