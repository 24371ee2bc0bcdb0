"""The memory plan: what to ask the engine for, what the draft costs, and whether the model fits. Pure."""

from dataclasses import dataclass, replace
from typing import Final

from specdec_operator.engine.memory import words
from specdec_operator.engine.memory.asked import MemoryAsked
from specdec_operator.engine.memory.facts import ModelFacts
from specdec_operator.engine.memory.terms import Item, Term, fixed_terms, graphs_counted
from specdec_operator.engine.memory.utilization import (
    WHOLE,
    Choice,
    asked_millionths,
    choose,
    graphs_outside,
    share_without_device,
)
from specdec_operator.engine.version import Flavor


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryPlan:
    """What to do about one device's memory. None: not known, or not applicable.

    utilization: to ask the engine for, in 0..1; None: leave the engine's own. lowered_by: how much less than asked.
    because: one sentence on the utilisation, with its numbers. draft_weights: bytes on each device.
    kv_tokens, plain_kv_tokens: tokens that the caches hold with and without the draft, predicted; the former is a
    lower bound where the utilisation was not lowered as far as the reserve wants.
    kv_price: what that makes, in words. fits: whether one request of the greatest length can be served.
    certain: it does not fit even if everything that is an estimate took nothing. reason: one sentence on both.
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
    certain: bool = False
    reason: str
    terms: tuple[Term, ...] = ()


_NOT_APPLICABLE: Final = "not applicable: on a CPU, gpu_memory_utilization is a share of the node's RAM"
_CANNOT_SAY: Final = "whether it fits cannot be said"
_NO_CACHE: Final = "the model keeps no cache that grows with its requests"


def plan(asked: MemoryAsked) -> MemoryPlan:
    """The plan for one device. The same question always has the same answer."""
    if asked.build.flavor is Flavor.VLLM_CPU:
        because = f"{_NOT_APPLICABLE}, and is left as it is"
        return MemoryPlan(utilization=asked.utilization, because=because, reason=_NOT_APPLICABLE)
    terms = fixed_terms(asked)
    outside = graphs_outside(asked, graphs_counted(asked)[0])
    if asked.device is None:
        return _without_device(asked, terms, ascend=outside)
    request = _request(asked)
    needed = _sum(terms, counted=True) + request if asked.target.weights and request else 0
    choice = choose(asked, asked.device, outside=_sum(terms, counted=False), needed=needed, ascend=outside)
    because = words.because(asked, asked.device, choice, terms)
    known = _judged(asked, asked.device, choice, terms) if needed else _unknown_model(asked, terms)
    return replace(
        known, utilization=choice.chosen / WHOLE, lowered_by=(choice.asked - choice.chosen) / WHOLE, because=because
    )


def _without_device(asked: MemoryAsked, terms: tuple[Term, ...], *, ascend: bool) -> MemoryPlan:
    start, chosen = asked_millionths(asked), share_without_device(asked, ascend=ascend)
    return MemoryPlan(
        utilization=chosen / WHOLE,
        lowered_by=(start - chosen) / WHOLE,
        because=words.no_device(asked, start, chosen),
        draft_weights=_draft_weights(asked, terms),
        kv_price=words.price_of_tokens(_request(_plain(asked)), _request(asked)),
        reason=f"{_CANNOT_SAY}: the device's memory is not known (spec.memory.device)",
        terms=terms,
    )


def _unknown_model(asked: MemoryAsked, terms: tuple[Term, ...]) -> MemoryPlan:
    lacking = [name for name, model in (("target", asked.target), ("draft", asked.draft)) if _lacks(model)]
    why = f"the sizes of the {' and the '.join(lacking)} are not known" if lacking else _NO_CACHE
    weights = _draft_weights(asked, terms)
    return MemoryPlan(utilization=None, because="", draft_weights=weights, reason=f"{_CANNOT_SAY}: {why}", terms=terms)


def _lacks(model: ModelFacts | None) -> bool:
    return model is not None and (model.weights is None or model.cache is None)


def _judged(asked: MemoryAsked, device: int, choice: Choice, terms: tuple[Term, ...]) -> MemoryPlan:
    """Where the sizes are known: what the caches hold, and whether that is enough."""
    request = _request(asked)
    pool = _pool(device, choice.chosen, terms)
    tokens = _tokens(asked, pool)
    tokens = min(tokens, asked.length or 1) if choice.held_up else tokens
    plain = _plain(asked)
    plain_tokens = _tokens(plain, _pool(device, choice.asked, fixed_terms(plain)))
    sure = tuple(term for term in terms if not term.estimated)
    short = _sum(terms, counted=False) - device * (WHOLE - choice.chosen) // WHOLE
    fits = pool >= request and not (choice.held_up and choice.missing and short > 0)
    return MemoryPlan(
        utilization=None,
        because="",
        draft_weights=_draft_weights(asked, terms),
        kv_tokens=tokens,
        plain_kv_tokens=plain_tokens,
        kv_price=words.price(plain_tokens, tokens) if asked.method else "",
        fits=fits,
        certain=_pool(device, choice.chosen, sure) < request,
        reason=words.reason(asked, pool=pool, request=request, short=0 if fits else short),
        terms=(*terms, *_caches(asked, pool, request)),
    )


def _plain(asked: MemoryAsked) -> MemoryAsked:
    """The same service without speculation."""
    return replace(asked, method=None, draft=None, tokens=0, probabilistic=False)


def _pool(device: int, utilization: int, terms: tuple[Term, ...]) -> int:
    """Bytes that the engine has left for caches; 0 where it has none."""
    return max(0, device * utilization // WHOLE - _sum(terms, counted=True))


def _sum(terms: tuple[Term, ...], *, counted: bool) -> int:
    return sum(term.bytes for term in terms if term.counted is counted)


def _request(asked: MemoryAsked) -> int:
    """Bytes that one request of the greatest length takes in the caches; 0 where a cache is not known."""
    parts = (_target_request(asked), _draft_request(asked))
    return 0 if None in parts else sum(part or 0 for part in parts)


def _target_request(asked: MemoryAsked) -> int | None:
    served, cache = asked.served, asked.target.cache
    if cache is None:
        return None
    return cache.request(asked.length or 1, served.tensor_parallel, served.pipeline_parallel)


def _draft_request(asked: MemoryAsked) -> int | None:
    if asked.draft is None:
        return 0
    cache = asked.draft.cache
    return cache.request(asked.length or 1, asked.draft_devices) if cache is not None else None


def _tokens(asked: MemoryAsked, pool: int) -> int:
    """Tokens that a pool holds if requests are of the greatest length."""
    request = _request(asked)
    return pool * (asked.length or 1) // request if request else 0


def _caches(asked: MemoryAsked, pool: int, request: int) -> tuple[Term, ...]:
    """The pool, parted as the caches of target and draft fill it."""
    draft = pool * (_draft_request(asked) or 0) // request
    found = ((Item.TARGET_CACHE, pool - draft), (Item.DRAFT_CACHE, draft))
    source = "what the engine's budget leaves after the other counted terms"
    return tuple(
        Term(name=name, bytes=size, counted=True, estimated=True, source=source) for name, size in found if size
    )


def _draft_weights(asked: MemoryAsked, terms: tuple[Term, ...]) -> int | None:
    """Bytes of the draft on one device; None without speculation and where its size is not known."""
    if asked.draft is None or asked.draft.weights is None:
        return None
    return next((term.bytes for term in terms if term.name is Item.DRAFT_WEIGHTS), 0)
