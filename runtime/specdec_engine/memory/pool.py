"""What is left for the caches of target and draft, and how many tokens that holds. Pure."""

from dataclasses import replace

from specdec_engine.memory.inputs import MemoryInputs
from specdec_engine.memory.terms import Item, Term
from specdec_engine.memory.utilization import WHOLE


def without_speculation(inputs: MemoryInputs) -> MemoryInputs:
    """The same service without speculation."""
    return replace(inputs, method=None, draft=None, tokens=0)


def pool_of(device: int, utilization: int, terms: tuple[Term, ...]) -> int:
    """Bytes that the engine has left for caches; 0 where it has none."""
    return max(0, device * utilization // WHOLE - total(terms, counted=True))


def total(terms: tuple[Term, ...], *, counted: bool) -> int:
    """Bytes of all terms that the engine counts, or of those that it does not."""
    return sum(term.bytes for term in terms if term.counted is counted)


def request_bytes(inputs: MemoryInputs) -> int:
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


def tokens_in(inputs: MemoryInputs, pool: int) -> int:
    """Tokens that a pool holds if requests are of the greatest length."""
    request = request_bytes(inputs)
    return pool * (inputs.length or 1) // request if request else 0


def caches(inputs: MemoryInputs, pool: int, request: int) -> tuple[Term, ...]:
    """The pool, parted as the caches of target and draft fill it."""
    draft = pool * (_draft_request(inputs) or 0) // request
    parts = ((Item.TARGET_CACHE, pool - draft), (Item.DRAFT_CACHE, draft))
    source = "the rest of the engine's budget after the other counted terms"
    return tuple(
        Term(name=name, bytes=size, counted=True, estimated=True, source=source) for name, size in parts if size
    )
