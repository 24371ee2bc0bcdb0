"""What a draft takes of the device's memory, as far as the configs of both models tell."""

from typing import Final

from specdec_operator.engine.case import Case
from specdec_operator.engine.memory.asked import asked_of

_GIB: Final = 1024**3


def price(case: Case) -> str:
    """Weights and cache of the draft beside the target's; empty where too little is known."""
    asked = asked_of(case, device=None)
    target, draft = asked.target, asked.draft
    if draft is None or target.weights is None or draft.weights is None or not draft.weights.total:
        return ""
    own, beside = draft.weights.total / _GIB, target.weights.total / _GIB
    said = f"about {own:.2f} GiB of weights beside the target's {beside:.2f}"
    if target.cache is None or draft.cache is None or not target.cache.per_token:
        return said
    return f"{said}, and {draft.cache.per_token / target.cache.per_token:.0%} more cache for each token"
