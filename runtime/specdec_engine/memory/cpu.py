"""Memory of an engine on CPUs: all of it is in the container's memory, and the container's limit is the device.

vllm/platforms/cpu.py and vllm/v1/worker/cpu_worker.py of 0.32, read: VLLM_CPU_KVCACHE_SPACE (whole GiB) sets the KV
cache to the byte, before --kv-cache-memory-bytes. Only without both does --gpu-memory-utilization count. It is a share
of the container's limit (or of the NUMA node's memory, if that is less), minus what the worker holds. This release's
runtime drops the variable if the flag is given, so that less than 1 GiB can be requested.
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
"""If the user sets this flag, the engine ignores the utilisation."""
_SINCE: Final = Version(0, 28)  # before it the CPU engine has no such flag, as far as is known
_MIB: Final = 1024**2
_WITHOUT_LIMIT: Final = 5  # where the container has no limit, its memory is taken to be so many caches
_LEAST: Final = 8  # the part of the cache that stays, one in so many: without any the engine does not start
_PROCESSES: Final = 2 * GIB  # 1.6 to 2.0 GiB with a tiny model and almost no cache: three processes, each with PyTorch
_LOADED: Final = frozenset({Item.TARGET_WEIGHTS, Item.DRAFT_WEIGHTS, Item.LOGITS, Item.DRAFT_BUFFERS})


def told_cache(spec: Json, case: Case) -> int | None:
    """Bytes of KV cache that the engine is set to; None: a share of the container's memory, or not known."""
    flag = number(case.args, CACHE_FLAG) or None
    if flag and not (spec.get("engine") or {}).get("runtime"):
        return flag  # this release's runtime drops the variable then
    return _of_variable(spec, case) or flag


def can_lower(spec: Json, case: Case) -> bool:
    """Whether the engine would follow a smaller setting. It does not if it is too old, if the user sets the flag, or if
    the variable has a source that cannot be read.
    """
    unseen = _names_variable(spec) and not _of_variable(spec, case)
    return CACHE_FLAG not in case.args and not unseen and case.build.vllm >= _SINCE


def lowered_on_cpu(inputs: MemoryInputs) -> MemoryInputs:
    """With less cache, for an engine that ran out of memory, or with a smaller share if no fixed cache size is
    known.
    """
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
