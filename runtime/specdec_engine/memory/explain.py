"""The plan's sentences, with their numbers."""

from typing import Final

from specdec_engine.memory.inputs import GIB, MemoryInputs, ReserveKind
from specdec_engine.memory.terms import Item, Term
from specdec_engine.memory.utilization import CAUTIOUS, WHOLE, UtilizationChoice

_MINUS: Final = "\u2212"
_MIB: Final = 1024**2
_MANY_SEQS: Final = 64
_NO_DRAFT: Final = "no draft, so no memory is reserved for one"
_AT_LEAST_UNKNOWN: Final = "at least 0.05 for a draft whose target is unknown"
_NOTHING_LOADED: Final = "the method loads nothing on the device, and the size of its verification logits is unknown"
_NAME_IT: Final = "spec.memory.device"
_OUTSIDE: Final = "vllm-ascend captures graphs outside of this budget (set spec.memory.device for the other amounts)"


def amount(size: int) -> str:
    """Bytes to three digits, in MiB below 1 GiB: `512 MiB`, `2.42 GiB`, `80 GiB`."""
    if size < GIB:
        return f"{size / _MIB:.0f} MiB"
    return f"{size / GIB:.3g} GiB" if size < 1000 * GIB else f"{size / GIB:.0f} GiB"


def share(millionths: int) -> str:
    """A utilisation as the engine's flag has it: `0.9`, `0.875`."""
    return f"{millionths / WHOLE:g}"


NO_LIMIT: Final = "the container's memory limit is unknown (spec.resources.limits.memory)"


def on_cpu(told: int | None) -> str:
    """Why nothing is lowered on a CPU. `told`: bytes of KV cache that the engine is set to."""
    if told is None:
        return "unchanged: on a CPU, gpu_memory_utilization is a share of the container's memory limit"
    return f"unchanged: on a CPU, the KV cache is fixed ({amount(told)}), and gpu_memory_utilization is ignored"


def once_more(because: str, before: float | None, after: float | None) -> str:
    """Why the utilisation is lower than planned. because: why it was planned as `before`."""
    if before is None or after is None or after >= before:
        return f"{because}; not lowered although the engine ran out of memory, because the models need it"
    words = f"{before:g} lowered to {after:g}: the engine ran out of memory"
    return f"{because}; then {words}" if because else words


def smaller_cache(before: int, after: int) -> str:
    """Why a CPU engine has a smaller cache."""
    return f"KV cache of {amount(before)} lowered to {amount(after)}: the engine ran out of memory"


def price(baseline: int, tokens: int) -> str:
    """How many fewer blocks the cache has with the draft; empty where it has none without it."""
    if baseline <= 0:
        return ""
    if tokens >= baseline:
        return "no KV blocks"
    percent = round(100 * (baseline - tokens) / baseline)
    return f"{_MINUS}{percent} % KV blocks" if percent else "less than 1 % of the KV blocks"


def price_of_tokens(baseline: int, with_draft: int) -> str:
    """How much more each token takes, where the size of the cache is not known; empty without a draft's cache."""
    if not baseline or with_draft <= baseline:
        return ""
    more = 100 * (with_draft - baseline) / baseline
    return f"{more:.0f} % more cache for each token, in addition to the draft's weights"


def price_of_share(lowered: int) -> str:
    """What a lowered share costs, if the number of tokens is unknown because the device or the models are. lowered:
    millionths.
    """
    if lowered <= 0:
        return ""
    return (
        f"{share(lowered)} of the device less for the KV cache; the number of tokens is unknown until the device and "
        "both models are known"
    )


def because(
    inputs: MemoryInputs, device: int, choice: UtilizationChoice, terms: tuple[Term, ...], added: tuple[Term, ...]
) -> str:
    """Why the utilisation is what it is. added: what speculation adds and the engine does not count."""
    if inputs.reserve.kind not in (ReserveKind.AUTO, ReserveKind.COUNTED):
        return _as_told(inputs, choice) + _held_up(choice)
    if inputs.method is None:
        return f"{share(choice.asked)} unchanged: {_NO_DRAFT}"
    if choice.added * device >= choice.missing * WHOLE and choice.added:
        return f"{_change(choice)}: {_for_speculation(inputs, added)}{_held_up(choice)}{_advice(inputs, choice, added)}"
    others = _others(inputs, terms)
    room = amount(device * (WHOLE - choice.asked) // WHOLE)
    leaves = f"the {room} that {share(choice.asked)} of {amount(device)} leaves"
    if choice.missing:
        return f"{_change(choice)}: {others} exceed {leaves}{_held_up(choice)}{_advice(inputs, choice, terms)}"
    if choice.ascend:
        graphs = amount(_bytes(terms, Item.GRAPHS))
        return f"{_change(choice)}: vllm-ascend captures graphs ({graphs}, an estimate) outside of it{_held_up(choice)}"
    return f"{share(choice.asked)} unchanged: it includes the draft's weights and cache, and {others} fit in {leaves}"


def _for_speculation(inputs: MemoryInputs, added: tuple[Term, ...]) -> str:
    """What Auto takes off, item by item."""
    parts = ", ".join(f"{term.name} {amount(term.bytes)}" for term in added)
    what = f"{amount(sum(term.bytes for term in added))} that speculation adds and the engine does not count ({parts}; "
    if not inputs.target.vocab:
        return f"{what}verification logits are unknown without the target's config.json), {_AT_LEAST_UNKNOWN}"
    least = ", at least 0.02" if inputs.loads_a_draft else ""
    return f"{what}upper ends of estimates){least}"


def _others(inputs: MemoryInputs, terms: tuple[Term, ...]) -> str:
    """What the engine does not count, item by item, and what of it could not be sized."""
    outside = [term for term in terms if not term.counted]
    parts = ", ".join(f"{term.name} {amount(term.bytes)}" for term in outside)
    lacking = "" if inputs.target.vocab else ", without verification logits, because the vocabulary is unknown"
    return f"{amount(sum(term.bytes for term in outside))} that the engine does not count ({parts}; estimates{lacking})"


def _bytes(terms: tuple[Term, ...], name: Item) -> int:
    return sum(term.bytes for term in terms if term.name is name)


def _as_told(inputs: MemoryInputs, choice: UtilizationChoice) -> str:
    if inputs.reserve.kind is ReserveKind.NONE:
        return f"{share(choice.asked)} unchanged: draftReserve is None"
    return f"{_change(choice)}: draftReserve is {inputs.reserve.text}"


def _change(choice: UtilizationChoice) -> str:
    if choice.chosen == choice.asked:
        return f"{share(choice.asked)} unchanged"
    return f"{share(choice.asked)} lowered to {share(choice.chosen)}"


def _held_up(choice: UtilizationChoice) -> str:
    if not choice.held_up:
        return ""
    least = share(choice.needed) if choice.needed <= choice.asked else f"more than {share(choice.asked)}"
    return f"; not to {share(choice.wanted)}, because the model and one request of the maximum length need {least}"


def _advice(inputs: MemoryInputs, choice: UtilizationChoice, terms: tuple[Term, ...]) -> str:
    """The advice to make the batch smaller, if that costs less than a smaller cache: when the logits are most of what
    is taken off.
    """
    logits = _bytes(terms, Item.LOGITS)
    most = sum(term.bytes for term in terms) if choice.added else choice.missing
    if inputs.seqs <= _MANY_SEQS or 2 * logits < most or choice.chosen == choice.asked:
        return ""
    return f"; fewer than {inputs.seqs} requests in a batch (maxNumSeqs) would need less memory"


def no_device(inputs: MemoryInputs, start: int, chosen: int) -> str:
    """Why the utilisation is what it is where the device is not known."""
    kind = inputs.reserve.kind
    if chosen != start:
        return f"{share(start)} lowered to {share(chosen)}: {_cautiously(inputs, start, chosen)}"
    match kind:
        case ReserveKind.NONE:
            return f"{share(start)} unchanged: draftReserve is None"
        case ReserveKind.AUTO | ReserveKind.COUNTED if inputs.method is None:
            return f"{share(start)} unchanged: {_NO_DRAFT}"
        case ReserveKind.AUTO:
            return f"{share(start)} unchanged: {_NOTHING_LOADED}"
        case ReserveKind.COUNTED:
            return f"{share(start)} unchanged: draftReserve is Counted, which needs the device's memory ({_NAME_IT})"
    return (
        f"{share(start)} unchanged: the device's memory is unknown, so {inputs.reserve.text} cannot be converted to a "
        "share"
    )


def _cautiously(inputs: MemoryInputs, start: int, chosen: int) -> str:
    kind = inputs.reserve.kind
    if kind is ReserveKind.SHARE:
        return f"draftReserve is {inputs.reserve.text}"
    if kind is ReserveKind.COUNTED or start - chosen != CAUTIOUS:
        return _OUTSIDE
    return f"0.05 for a draft, because the device's memory is unknown ({_NAME_IT})"


def on_cpu_reason(inputs: MemoryInputs, pool: int, request: int, taken: int) -> str:
    """The sentence on whether it fits into the container. taken: bytes of everything."""
    if pool < request or inputs.device is None or inputs.target.weights is None:
        lacks = "the sizes of the target are unknown" if inputs.target.weights is None else NO_LIMIT
        return reason(inputs, pool=pool, request=request, short=0) + ("" if pool < request else f"; {lacks}")
    if taken > inputs.device:
        limit = f"the container's memory limit is {amount(inputs.device)}"
        return f"models, processes and KV cache need about {amount(taken)}, and {limit}"
    return reason(inputs, pool=pool, request=request, short=0)


def reason(inputs: MemoryInputs, *, pool: int, request: int, short: int) -> str:
    """The sentence on whether it fits. short: bytes that are missing outside the engine's budget."""
    length = f"{inputs.length} tokens" if inputs.length else "one token (the maximum length is unknown)"
    if pool < request:
        return f"one request of {length} needs about {amount(request)} of cache, and about {amount(pool)} are left"
    if short > 0:
        return f"about {amount(short)} are missing outside the engine's budget, and the model needs the whole budget"
    times = pool / request
    few = "; a second long request waits" if times < 2 else ""
    return f"about {amount(pool)} of cache hold {times:.1f} requests of {length}{few}"
