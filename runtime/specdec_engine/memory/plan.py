"""The memory plan: what to ask the engine for, what the draft costs, and whether the model fits. Pure."""

from dataclasses import dataclass, replace
from typing import Final

from specdec_engine.memory import explain
from specdec_engine.memory.cpu import lowered_on_cpu, terms_on_cpu
from specdec_engine.memory.inputs import MemoryInputs
from specdec_engine.memory.model_size import ModelFacts
from specdec_engine.memory.pool import caches, pool_of, request_bytes, tokens_in, total, without_speculation
from specdec_engine.memory.terms import Item, Term, added_terms, fixed_terms, graphs_counted
from specdec_engine.memory.utilization import (
    WHOLE,
    UtilizationChoice,
    asked_millionths,
    choose,
    graphs_outside,
    share_without_device,
)
from specdec_engine.version import Flavor


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceMemory:
    """Memory of one device in bytes; None: not known. source: where the number comes from, or why it is not known;
    empty: not looked for.
    """

    bytes: int | None = None
    source: str = ""


NOT_ASKED: Final = DeviceMemory()
"""Where nothing was planned."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryPlan:
    """What to do about one device's memory. None: not known, or not applicable.

    utilization: to ask the engine for, in 0..1; None: leave the engine's own. lowered_by: how much less than asked.
    cache: bytes of KV cache to ask a CPU engine for instead. device: what was planned for, and the source of its size.
    because: one sentence on the utilisation, with its numbers. draft_weights: bytes on each device.
    kv_tokens, baseline_kv_tokens: tokens that the caches hold with and without the draft, predicted; the former is a
    lower bound where the utilisation was not lowered as far as the reserve wants.
    kv_price: a short text on the difference. fits: whether one request of the greatest length can be served.
    reason: one sentence on that.
    terms: all that takes memory. Those that are counted make up what the engine was asked to take.
    """

    utilization: float | None
    lowered_by: float = 0.0
    cache: int | None = None
    device: DeviceMemory = NOT_ASKED
    because: str
    draft_weights: int | None = None
    kv_tokens: int | None = None
    baseline_kv_tokens: int | None = None
    kv_price: str = ""
    fits: bool | None = None
    reason: str
    terms: tuple[Term, ...] = ()


_CANNOT_SAY: Final = "it is unknown whether the models fit"
_NO_CACHE: Final = "the model has no cache that grows with its requests"


def plan(inputs: MemoryInputs) -> MemoryPlan:
    """The plan for one device. The same question always has the same answer."""
    if inputs.build.flavor is Flavor.VLLM_CPU:
        return _on_cpu(inputs)
    if not inputs.lowered_further or inputs.method is None:
        return _on_device(inputs)
    before, after = _on_device(replace(inputs, lowered_further=0.0)), _on_device(inputs)
    return replace(after, because=explain.once_more(before.because, before.utilization, after.utilization))


def _on_device(inputs: MemoryInputs) -> MemoryPlan:
    terms = fixed_terms(inputs)
    outside = graphs_outside(inputs, graphs_counted(inputs)[0])
    if inputs.device is None:
        return _without_device(inputs, terms, ascend=outside)
    request = request_bytes(inputs)
    needed = total(terms, counted=True) + request if inputs.target.weights and request else 0
    added = added_terms(inputs)
    choice = choose(
        inputs,
        inputs.device,
        outside=total(terms, counted=False),
        added=total(added, counted=False),
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


def _on_cpu(inputs: MemoryInputs) -> MemoryPlan:
    """The engine has a fixed cache, or takes a share of the container's memory: nothing is lowered beforehand."""
    less = lowered_on_cpu(inputs)
    planned = _in_container(less, without_speculation(inputs))
    if less is inputs:
        return planned
    if inputs.told_cache is not None and less.told_cache is not None:
        return replace(
            planned,
            cache=less.told_cache,
            lowered_by=inputs.lowered_further,
            because=explain.smaller_cache(inputs.told_cache, less.told_cache),
            kv_price=planned.kv_price or explain.price(inputs.told_cache, less.told_cache),
        )
    start, chosen = asked_millionths(inputs) / WHOLE, asked_millionths(less) / WHOLE
    because = explain.once_more("", start, chosen)
    return replace(planned, utilization=chosen, lowered_by=start - chosen, because=because)


def _in_container(inputs: MemoryInputs, baseline: MemoryInputs) -> MemoryPlan:
    """What fits into the container with a cache, or a share, that is settled. baseline: as much without speculation."""
    terms, request, limit = terms_on_cpu(inputs), request_bytes(inputs), inputs.device
    pool = _pool_on_cpu(inputs, terms)
    known = replace(
        _unknown_model(inputs, terms), utilization=inputs.utilization, because=explain.on_cpu(inputs.told_cache)
    )
    if not request or pool is None:
        return known if not request else replace(known, reason=f"{_CANNOT_SAY}: {explain.NO_LIMIT}")
    before, after = tokens_in(baseline, _pool_on_cpu(baseline, terms_on_cpu(baseline)) or 0), tokens_in(inputs, pool)
    taken = pool + sum(term.bytes for term in terms)
    fits = None if limit is None or inputs.target.weights is None else pool >= request and taken <= limit
    return replace(
        known,
        kv_tokens=after,
        baseline_kv_tokens=before,
        kv_price=explain.price(before, after) if inputs.method else "",
        fits=fits,
        reason=explain.on_cpu_reason(inputs, pool, request, taken),
        terms=(*terms, *caches(inputs, pool, request)),
    )


def _pool_on_cpu(inputs: MemoryInputs, terms: tuple[Term, ...]) -> int | None:
    if inputs.told_cache is not None:
        return inputs.told_cache
    return None if inputs.device is None else pool_of(inputs.device, asked_millionths(inputs), terms)


def _without_device(inputs: MemoryInputs, terms: tuple[Term, ...], *, ascend: bool) -> MemoryPlan:
    start, chosen = asked_millionths(inputs), share_without_device(inputs, ascend=ascend)
    return MemoryPlan(
        utilization=chosen / WHOLE,
        lowered_by=(start - chosen) / WHOLE,
        because=explain.no_device(inputs, start, chosen),
        draft_weights=_draft_weights(inputs, terms),
        kv_price=explain.price_of_tokens(request_bytes(without_speculation(inputs)), request_bytes(inputs))
        or explain.price_of_share(start - chosen),
        reason=f"{_CANNOT_SAY}: the device's memory is unknown (spec.memory.device)",
        terms=terms,
    )


def _unknown_model(inputs: MemoryInputs, terms: tuple[Term, ...]) -> MemoryPlan:
    lacking = [name for name, model in (("target", inputs.target), ("draft", inputs.draft)) if _lacks(model)]
    why = f"the sizes of the {' and the '.join(lacking)} are unknown" if lacking else _NO_CACHE
    weights = _draft_weights(inputs, terms)
    return MemoryPlan(utilization=None, because="", draft_weights=weights, reason=f"{_CANNOT_SAY}: {why}", terms=terms)


def _lacks(model: ModelFacts | None) -> bool:
    return model is not None and (model.weights is None or model.cache is None)


def _judged(inputs: MemoryInputs, device: int, choice: UtilizationChoice, terms: tuple[Term, ...]) -> MemoryPlan:
    """The plan for known sizes: what the caches hold, and whether that is enough."""
    request = request_bytes(inputs)
    pool = pool_of(device, choice.chosen, terms)
    tokens = tokens_in(inputs, pool)
    tokens = min(tokens, inputs.length or 1) if choice.held_up else tokens
    baseline = without_speculation(inputs)
    baseline_tokens = tokens_in(baseline, pool_of(device, choice.asked, fixed_terms(baseline)))
    short = total(terms, counted=False) - device * (WHOLE - choice.chosen) // WHOLE
    fits = pool >= request and not (choice.held_up and choice.missing and short > 0)
    return MemoryPlan(
        utilization=None,
        because="",
        draft_weights=_draft_weights(inputs, terms),
        kv_tokens=tokens,
        baseline_kv_tokens=baseline_tokens,
        kv_price=explain.price(baseline_tokens, tokens) if inputs.method else "",
        fits=fits,
        reason=explain.reason(inputs, pool=pool, request=request, short=0 if fits else short),
        terms=(*terms, *caches(inputs, pool, request)),
    )


def _draft_weights(inputs: MemoryInputs, terms: tuple[Term, ...]) -> int | None:
    """Bytes of the draft on one device; None without speculation and where its size is not known."""
    if inputs.draft is None or inputs.draft.weights is None:
        return None
    return next((term.bytes for term in terms if term.name is Item.DRAFT_WEIGHTS), 0)
