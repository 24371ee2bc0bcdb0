"""What the engine's own counters say about drafting between two looks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from specdec_runtime import counters

if TYPE_CHECKING:
    from hack.engine.server import Server

_DRAFTED: Final = "vllm:spec_decode_num_draft_tokens_total"
_ACCEPTED: Final = "vllm:spec_decode_num_accepted_tokens_total"


def page(engine: Server) -> str:
    """Return the metrics as they are now."""
    return engine.ask("/metrics")


def moved(before: str, after: str) -> dict[str, Any]:
    """Return drafts, drafted and accepted tokens, and the share that was accepted; None where nothing was drafted."""
    drafts, drafted, accepted = (_moved(before, after, name) for name in (counters.DRAFTS, _DRAFTED, _ACCEPTED))
    rate = round(accepted / drafted, 4) if drafted else None
    return {"drafts": drafts, "drafted": drafted, "accepted": accepted, "acceptance": rate}


def _moved(before: str, after: str, name: str) -> float:
    return (counters.total(after, name) or 0.0) - (counters.total(before, name) or 0.0)
