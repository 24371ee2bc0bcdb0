"""The memory plan: what to ask the engine for, what the draft costs, and whether the model fits. Pure."""

from dataclasses import dataclass, replace
from typing import Final

from specdec_operator.engine.case import Json
from specdec_operator.engine.memory import explain
from specdec_operator.engine.memory.inputs import NONE, MemoryInputs, inputs_of, parse_reserve
from specdec_operator.engine.memory.model_size import ModelFacts
from specdec_operator.engine.memory.terms import Item, Term, added_terms, fixed_terms, graphs_counted
from specdec_operator.engine.memory.utilization import (
    WHOLE,
    Choice,
    asked_millionths,
    choose,
    graphs_outside,
    share_without_device,
)
from specdec_operator.engine.quantity import parse_quantity
from specdec_operator.engine.translate import EngineRequest
from specdec_operator.engine.version import Flavor
from specdec_operator.errors import Invalid


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryPlan:
    """What to do about one device's memory. None: not known, or not applicable.

    utilization: to ask the engine for, in 0..1; None: leave the engine's own. lowered_by: how much less than asked.
    because: one sentence on the utilisation, with its numbers. draft_weights: bytes on each device.
    kv_tokens, plain_kv_tokens: tokens that the caches hold with and without the draft, predicted; the former is a
    lower bound where the utilisation was not lowered as far as the reserve wants.
    kv_price: what that makes, in words. fits: whether one request of the greatest length can be served.
    reason: one sentence on that.
    terms: all that takes memory. Those that are counted make up what the engine was asked to take.
    """

    utilization: float | None
    lowered_by: float = 0.0
    because: str
    draft_weights: int | None = None
    kv_tokens: int | None = None
    plain_kv_tokens: int | None = None
    kv_price: str = ""
    fits: bool | None = None
    reason: str
    terms: tuple[Term, ...] = ()


_NOT_APPLICABLE: Final = "not applicable: on a CPU, gpu_memory_utilization is a share of the node's RAM"
_CANNOT_SAY: Final = "whether it fits cannot be said"
_NO_CACHE: Final = "the model keeps no cache that grows with its requests"


def plan(inputs: MemoryInputs) -> MemoryPlan:
    """The plan for one device. The same question always has the same answer."""
    if inputs.build.flavor is Flavor.VLLM_CPU:
        because = f"{_NOT_APPLICABLE}, and is left as it is"
        return MemoryPlan(utilization=inputs.utilization, because=because, reason=_NOT_APPLICABLE)
    terms = fixed_terms(inputs)
    outside = graphs_outside(inputs, graphs_counted(inputs)[0])
    if inputs.device is None:
        return _without_device(inputs, terms, ascend=outside)
    request = _request(inputs)
    needed = _sum(terms, counted=True) + request if inputs.target.weights and request else 0
    added = added_terms(inputs)
    choice = choose(
        inputs,
        inputs.device,
        outside=_sum(terms, counted=False),
        added=_sum(added, counted=False),
        needed=needed,
        ascend=outside,
    )
    because = explain.because(inputs, inputs.device, choice, terms, added)
    judged = _judged(inputs, inputs.device, choice, terms) if needed else _unknown_model(inputs, terms)
    lowered = choice.asked - choice.chosen
    return replace(
        judged,
        utilization=choice.chosen / WHOLE,
        lowered_by=lowered / WHOLE,
        because=because,
        kv_price=judged.kv_price if needed else explain.price_of_share(lowered),
    )


def _without_device(inputs: MemoryInputs, terms: tuple[Term, ...], *, ascend: bool) -> MemoryPlan:
    start, chosen = asked_millionths(inputs), share_without_device(inputs, ascend=ascend)
    return MemoryPlan(
        utilization=chosen / WHOLE,
        lowered_by=(start - chosen) / WHOLE,
        because=explain.no_device(inputs, start, chosen),
        draft_weights=_draft_weights(inputs, terms),
        kv_price=explain.price_of_tokens(_request(_plain(inputs)), _request(inputs))
        or explain.price_of_share(start - chosen),
        reason=f"{_CANNOT_SAY}: the device's memory is not known (spec.memory.device)",
        terms=terms,
    )


def _unknown_model(inputs: MemoryInputs, terms: tuple[Term, ...]) -> MemoryPlan:
    lacking = [name for name, model in (("target", inputs.target), ("draft", inputs.draft)) if _lacks(model)]
    why = f"the sizes of the {' and the '.join(lacking)} are not known" if lacking else _NO_CACHE
    weights = _draft_weights(inputs, terms)
    return MemoryPlan(utilization=None, because="", draft_weights=weights, reason=f"{_CANNOT_SAY}: {why}", terms=terms)


def _lacks(model: ModelFacts | None) -> bool:
    return model is not None and (model.weights is None or model.cache is None)


def _judged(inputs: MemoryInputs, device: int, choice: Choice, terms: tuple[Term, ...]) -> MemoryPlan:
    """Where the sizes are known: what the caches hold, and whether that is enough."""
    request = _request(inputs)
    pool = _pool(device, choice.chosen, terms)
    tokens = _tokens(inputs, pool)
    tokens = min(tokens, inputs.length or 1) if choice.held_up else tokens
    plain = _plain(inputs)
    plain_tokens = _tokens(plain, _pool(device, choice.asked, fixed_terms(plain)))
    short = _sum(terms, counted=False) - device * (WHOLE - choice.chosen) // WHOLE
    fits = pool >= request and not (choice.held_up and choice.missing and short > 0)
    return MemoryPlan(
        utilization=None,
        because="",
        draft_weights=_draft_weights(inputs, terms),
        kv_tokens=tokens,
        plain_kv_tokens=plain_tokens,
        kv_price=explain.price(plain_tokens, tokens) if inputs.method else "",
        fits=fits,
        reason=explain.reason(inputs, pool=pool, request=request, short=0 if fits else short),
        terms=(*terms, *_caches(inputs, pool, request)),
    )


def _plain(inputs: MemoryInputs) -> MemoryInputs:
    """The same service without speculation."""
    return replace(inputs, method=None, draft=None, tokens=0)


def _pool(device: int, utilization: int, terms: tuple[Term, ...]) -> int:
    """Bytes that the engine has left for caches; 0 where it has none."""
    return max(0, device * utilization // WHOLE - _sum(terms, counted=True))


def _sum(terms: tuple[Term, ...], *, counted: bool) -> int:
    return sum(term.bytes for term in terms if term.counted is counted)


def _request(inputs: MemoryInputs) -> int:
    """Bytes that one request of the greatest length takes in the caches; 0 where a cache is not known."""
    parts = (_target_request(inputs), _draft_request(inputs))
    return 0 if None in parts else sum(part or 0 for part in parts)


def _target_request(inputs: MemoryInputs) -> int | None:
    cache = inputs.target.cache
    return (
        cache.request(inputs.length or 1, inputs.tensor_parallel, inputs.pipeline_parallel)
        if cache is not None
        else None
    )


def _draft_request(inputs: MemoryInputs) -> int | None:
    if inputs.draft is None:
        return 0
    cache = inputs.draft.cache
    return cache.request(inputs.length or 1, inputs.draft_devices) if cache is not None else None


def _tokens(inputs: MemoryInputs, pool: int) -> int:
    """Tokens that a pool holds if requests are of the greatest length."""
    request = _request(inputs)
    return pool * (inputs.length or 1) // request if request else 0


def _caches(inputs: MemoryInputs, pool: int, request: int) -> tuple[Term, ...]:
    """The pool, parted as the caches of target and draft fill it."""
    draft = pool * (_draft_request(inputs) or 0) // request
    caches = ((Item.TARGET_CACHE, pool - draft), (Item.DRAFT_CACHE, draft))
    source = "what the engine's budget leaves after the other counted terms"
    return tuple(
        Term(name=name, bytes=size, counted=True, estimated=True, source=source) for name, size in caches if size
    )


def _draft_weights(inputs: MemoryInputs, terms: tuple[Term, ...]) -> int | None:
    """Bytes of the draft on one device; None without speculation and where its size is not known."""
    if inputs.draft is None or inputs.draft.weights is None:
        return None
    return next((term.bytes for term in terms if term.name is Item.DRAFT_WEIGHTS), 0)


_FLAG = "gpu_memory_utilization"


def budget(spec: Json, request: EngineRequest, *, lowered_further: float = 0.0) -> MemoryPlan:
    """The plan for what is asked. Raises Invalid for a reserve that takes all there is, or nothing.

    The plain service reserves nothing: there is no draft to reserve for. lowered_further: share of the device that is
    taken off besides.
    """
    memory: Json = spec.get("memory") or {}
    draft: Json = (spec.get("speculation") or {}).get("draft") or {}
    device = _quantity("spec.memory.device", memory.get("device"))
    size = _quantity("spec.speculation.draft.size", draft.get("size"))
    text = memory.get("draftReserve", "Auto")
    try:
        reserve = parse_reserve(text) if request.case.speculation else NONE
    except ValueError as error:
        raise Invalid("spec.memory.draftReserve", text, str(error)) from error
    return plan(
        inputs_of(request.case, device=device, draft_bytes=size, reserve=reserve, lowered_further=lowered_further)
    )


def within(request: EngineRequest, planned: MemoryPlan) -> EngineRequest:
    """What is asked, with the utilisation lowered as planned; the engine's default and the user's number stay."""
    if planned.lowered_by <= 0 or planned.utilization is None:
        return request
    changed = {_FLAG: planned.utilization}
    case = replace(request.case, args={**request.case.args, **changed})
    return replace(request, case=case, flags={**request.flags, **changed})


def _quantity(field: str, text: str | None) -> int | None:
    if text is None:
        return None
    try:
        return parse_quantity(text)
    except ValueError as error:
        raise Invalid(field, text, str(error)) from error
