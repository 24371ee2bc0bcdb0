"""From what is asked to the memory plan, and from the plan to the engine's flags. Pure."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from specdec_engine.case import Json
from specdec_engine.memory.cpu import CACHE_FLAG, can_lower, told_cache
from specdec_engine.memory.facts import NOTHING, Known
from specdec_engine.memory.inputs import NONE, Reserve, inputs_of, parse_reserve
from specdec_engine.memory.plan import DeviceMemory, MemoryPlan, plan
from specdec_engine.memory.utilization import WHOLE, default_millionths
from specdec_engine.rule import Finding, Rule, Severity
from specdec_engine.version import Flavor
from specdec_operator.engine.devices import TOLD_BY_POD, device_of, given_bytes
from specdec_operator.engine.translate import EngineRequest
from specdec_operator.errors import Invalid

_FLAG: Final = "gpu_memory_utilization"
_ROUNDING: Final = 1e-9
TWICE: Final = Rule(
    id="MEMORY-SHARE-TWICE",
    severity=Severity.WARNED,
    says="A share of memory that leaves room for the draft must not be lowered again.",
    source="this project: docs/memory.md",
)


def budget(
    spec: Json,
    request: EngineRequest,
    *,
    device: DeviceMemory | None = None,
    lowered_further: float = 0.0,
    known: Known = NOTHING,
    shown: Known | None = None,
) -> MemoryPlan:
    """The plan for what is requested. Raises Invalid for a reserve that takes all of the memory, or nothing.

    A baseline reserves nothing: it has no draft to reserve for. device: as it was found in a cluster; None: only the
    spec decides. lowered_further: share of the device to take off in addition. known: what pods reported. shown: what
    they have reported since: it changes the description of the plan, and no flag.
    """
    device = device_of(spec) if device is None else device
    planned = _budget(spec, request, known, device, lowered_further)
    if shown is None or shown == known:
        return planned
    told = _budget(spec, request, shown, device, lowered_further, settled=planned.utilization)
    return replace(
        told,
        utilization=planned.utilization,
        lowered_by=planned.lowered_by,
        cache=planned.cache,
        because=planned.because,
    )


def _budget(
    spec: Json, request: EngineRequest, known: Known, device: DeviceMemory, further: float, settled: float | None = None
) -> MemoryPlan:
    draft: Json = (spec.get("speculation") or {}).get("draft") or {}
    if device.bytes is None and known.device is not None:
        device = DeviceMemory(bytes=known.device, source=TOLD_BY_POD)
    size = given_bytes("spec.speculation.draft.size", draft["size"]) if draft.get("size") else None
    on_cpu = request.case.build.flavor is Flavor.VLLM_CPU
    heeded = can_lower(spec, request.case) if on_cpu else CACHE_FLAG not in request.case.args
    inputs = inputs_of(
        request.case,
        device=device.bytes,
        draft_bytes=size,
        reserve=_reserve(spec, request),
        told_cache=told_cache(spec, request.case) if on_cpu else None,
        lowered_further=further if heeded else 0.0,
        known=known,
        settled=settled,
    )
    return replace(plan(inputs), device=device)


def lowered_twice(spec: Json, request: EngineRequest, planned: MemoryPlan) -> Iterator[Finding]:
    """A share that the user set as low as the plan would lower the default, and that is lowered further."""
    share, default = (spec.get("engine") or {}).get("gpuMemoryUtilization"), default_millionths(request.case.build)
    if share is None or planned.lowered_by <= 0 or share + planned.lowered_by > default / WHOLE + _ROUNDING:
        return
    message = (
        f"the draft's reserve lowers it to {planned.utilization:g}, although it is below the engine's default of "
        f"{default / WHOLE:g} by that much already; if it leaves room for the draft, set memory.draftReserve to None"
    )
    yield TWICE.broken("spec.engine.gpuMemoryUtilization", share, message)


def _reserve(spec: Json, request: EngineRequest) -> Reserve:
    text = (spec.get("memory") or {}).get("draftReserve", "Auto")
    try:
        return parse_reserve(text) if request.case.speculation else NONE
    except ValueError as error:
        raise Invalid("spec.memory.draftReserve", text, str(error)) from error


def within(request: EngineRequest, planned: MemoryPlan) -> EngineRequest:
    """What is asked, with the utilisation lowered as planned; the engine's default and the user's number stay."""
    if planned.cache is not None:
        changed: Json = {CACHE_FLAG: planned.cache}
    elif planned.lowered_by > 0 and planned.utilization is not None:
        changed = {_FLAG: planned.utilization}
    else:
        return request
    case = replace(request.case, args={**request.case.args, **changed})
    return replace(request, case=case, flags={**request.flags, **changed})
