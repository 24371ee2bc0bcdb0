"""The memory plan of a spec, and the flag that follows from it."""

from dataclasses import replace

from specdec_operator.engine.asked import Asked
from specdec_operator.engine.case import Json
from specdec_operator.engine.memory.asked import asked_of
from specdec_operator.engine.memory.plan import MemoryPlan, plan
from specdec_operator.engine.memory.reserve import NONE, parse_quantity, parse_reserve
from specdec_operator.errors import Invalid

_FLAG = "gpu_memory_utilization"


def budget(spec: Json, asked: Asked) -> MemoryPlan:
    """The plan for what is asked. Raises Invalid for a reserve that takes all there is, or nothing.

    The plain service reserves nothing: there is no draft to reserve for.
    """
    memory: Json = spec.get("memory") or {}
    draft: Json = (spec.get("speculation") or {}).get("draft") or {}
    device = _quantity("spec.memory.device", memory.get("device"))
    size = _quantity("spec.speculation.draft.size", draft.get("size"))
    text = memory.get("draftReserve", "Auto")
    try:
        reserve = parse_reserve(text) if asked.case.speculation else NONE
    except ValueError as error:
        raise Invalid("spec.memory.draftReserve", text, str(error)) from error
    return plan(asked_of(asked.case, device=device, draft_bytes=size, reserve=reserve))


def within(asked: Asked, planned: MemoryPlan) -> Asked:
    """What is asked, with the utilisation lowered as planned; the engine's default and the user's number stay."""
    if planned.lowered_by <= 0 or planned.utilization is None:
        return asked
    changed = {_FLAG: planned.utilization}
    case = replace(asked.case, args={**asked.case.args, **changed})
    return replace(asked, case=case, flags={**asked.flags, **changed})


def _quantity(field: str, text: str | None) -> int | None:
    if text is None:
        return None
    try:
        return parse_quantity(text)
    except ValueError as error:
        raise Invalid(field, text, str(error)) from error
