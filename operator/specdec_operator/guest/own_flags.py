"""What the flags and annotations of an InferenceService ask for, read once for each version of it. Pure.

To read it takes the time to parse each of its scripts, so all that is needed of them is found together.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from specdec_operator.guest.managers import without_guard
from specdec_operator.guest.patch import (
    Patch,
    SpeculationPlace,
    TakenOut,
    bring_back,
    is_allowed,
    place_or_reason,
    taken_out,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnFlags:
    """name: of the InferenceService. allowed: whether its owner lets the guard write it. place: where it requests
    speculation. why_no_place: why it cannot be removed there; empty if it can be, or none is requested. taken: what was
    taken out. back: the patch that restores it; None if its owner has changed the flags. released: its managedFields
    without those that the guard still owns although nothing is taken out; None: it owns none.
    """

    name: str = ""
    allowed: bool = False
    place: SpeculationPlace | None = None
    why_no_place: str = ""
    taken: TakenOut | None = None
    back: Patch | None = None
    released: list[dict[str, Any]] | None = None


def own_flags(live: Mapping[str, Any]) -> OwnFlags:
    """Those of an InferenceService."""
    taken, found = taken_out(live), place_or_reason(live)
    return OwnFlags(
        name=str(live["metadata"]["name"]),
        allowed=is_allowed(live),
        place=found if isinstance(found, SpeculationPlace) else None,
        why_no_place=found if isinstance(found, str) else "",
        taken=taken,
        back=bring_back(live, taken) if taken is not None else None,
        released=without_guard(live) if is_allowed(live) else None,
    )
