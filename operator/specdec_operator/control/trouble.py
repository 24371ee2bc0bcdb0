"""The status of a sis that cannot run as it is written. Decisions and measurements stay as they were."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from specdec_operator.control.conditions import Said, merged
from specdec_operator.control.durable import to_time
from specdec_operator.errors import Invalid


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """A generation of the spec that cannot run, and why."""

    error: Invalid
    generation: int


def stalled_status(before: Mapping[str, Any], trouble: Trouble, *, now: float) -> dict[str, Any]:
    """The status before, with Stalled=True and the refusal's words. Pods that run already keep answering."""
    error, generation = trouble.error, trouble.generation
    old = tuple(before.get("conditions", ()))
    kept: dict[str, Said | None] = {c["type"]: None for c in old if c["type"] not in ("Stalled", "Reconciling")}
    wanted = {"Ready": None, **kept, "Stalled": ("True", error.reason, error.message)}
    conditions = merged(wanted, old, now=to_time(now), generation=generation)
    return {
        **before,
        "observedGeneration": generation,
        "phase": "Stalled",
        "reason": error.reason,
        "message": error.message,
        "conditions": [condition.model_dump(by_alias=True, exclude_none=True) for condition in conditions],
    }
