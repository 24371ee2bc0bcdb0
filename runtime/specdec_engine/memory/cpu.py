"""Memory of an engine on CPUs: everything lies in the container's own, and its limit is the device.

vllm/platforms/cpu.py and vllm/v1/worker/cpu_worker.py of 0.32, read: VLLM_CPU_KVCACHE_SPACE (whole GiB) sets the KV
cache to the byte, before --kv-cache-memory-bytes; only without both does --gpu-memory-utilization count, as a share of
the container's limit (or of the NUMA node's memory, where that is less) less what the worker holds. This release's
runtime drops the variable where the flag is given, so that less than 1 GiB can be asked for.
"""

from dataclasses import replace
from typing import Final

from specdec_engine.case import Case, Json
from specdec_engine.memory.inputs import GIB, NONE, MemoryInputs
from specdec_engine.memory.terms import Item, Term, fixed_terms
from specdec_engine.memory.utilization import WHOLE, share_without_device
from specdec_engine.shape import number
from specdec_engine.version import Version

VARIABLE: Final = "VLLM_CPU_KVCACHE_SPACE"
OF_RUNTIME: Final = 1
"""GiB that the variable has in this release's runtime."""
CACHE_FLAG: Final = "kv_cache_memory_bytes"
"""Where the user gives it, the engine heeds no utilisation."""
_SINCE: Final = Version(0, 28)  # before it the CPU engine has no such flag, as far as is known
_MIB: Final = 1024**2
_WITHOUT_LIMIT: Final = 5  # where the container has no limit, its memory is taken to be so many caches
_LEAST: Final = 8  # the part of the cache that stays, one in so many: without any the engine does not start
_PROCESSES: Final = 2 * GIB  # 1.6 to 2.0 GiB with a tiny model and almost no cache: three processes, each with PyTorch
_LOADED: Final = frozenset({Item.TARGET_WEIGHTS, Item.DRAFT_WEIGHTS, Item.LOGITS, Item.DRAFT_BUFFERS})


def told_cache(spec: Json, case: Case) -> int | None:
    """Bytes of KV cache that the engine is told; None: a share of the container's memory, or nobody knows."""
    flag = number(case.args, CACHE_FLAG) or None
    if flag and not (spec.get("engine") or {}).get("runtime"):
        return flag  # this release's runtime drops the variable then
    return _of_variable(spec, case) or flag


def can_lower(spec: Json, case: Case) -> bool:
    """Whether the engine would heed less memory than it has: not where it is too old, or is told in ways not seen."""
    unseen = _names_variable(spec) and not _of_variable(spec, case)
    return CACHE_FLAG not in case.args and not unseen and case.build.vllm >= _SINCE


def lowered_on_cpu(inputs: MemoryInputs) -> MemoryInputs:
    """With less cache, for an engine that ran out of memory, or a smaller share where no cache is known to be told."""
    if not inputs.lowered_further or inputs.method is None:
        return inputs
    if inputs.told_cache is not None:
        return replace(inputs, told_cache=_smaller(inputs.told_cache, inputs), lowered_further=0.0)
    share = share_without_device(replace(inputs, reserve=NONE), ascend=False) / WHOLE
    case = replace(inputs.case, args={**inputs.case.args, "gpu_memory_utilization": share})
    return replace(inputs, case=case, lowered_further=0.0)


def terms_on_cpu(inputs: MemoryInputs) -> tuple[Term, ...]:
    """Everything but the caches. Counted: what a worker with a share takes off it."""
    source = "estimate: 1.6 to 2.0 GiB with a tiny model"
    processes = Term(name=Item.PROCESSES, bytes=_PROCESSES, counted=False, estimated=True, source=source)
    kept = (term for term in fixed_terms(inputs) if term.name in _LOADED)
    return (*(replace(term, counted=inputs.told_cache is None) for term in kept), processes)


def _of_variable(spec: Json, case: Case) -> int:
    """0: it is not set, or not to a number that is known."""
    own = bool((spec.get("engine") or {}).get("runtime"))
    text = case.env.get(VARIABLE, "") if _names_variable(spec) else "" if own else str(OF_RUNTIME)
    return int(text) * GIB if text.isdecimal() else 0


def _names_variable(spec: Json) -> bool:
    return any(each.get("name") == VARIABLE for each in (spec.get("engine") or {}).get("env") or ())


def _smaller(cache: int, inputs: MemoryInputs) -> int:
    """The cache without a share of the container's memory limit; whole MiB, and never nothing."""
    container = inputs.device or _WITHOUT_LIMIT * cache
    return max(cache // _LEAST, cache - round(inputs.lowered_further * container)) // _MIB * _MIB
