"""What takes memory on a device, and what of it the engine counts against its own budget, gpu_memory_utilization.

Weights, activations and caches of target and draft are counted by every version here. Graphs depend on version, runner
and accelerator; the logits that verification adds, and other processes, are never counted.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from specdec_engine.memory.inputs import GIB, MemoryInputs
from specdec_engine.memory.model_size import ModelFacts
from specdec_engine.model_runner import Runner
from specdec_engine.version import Flavor, Version


class Item(StrEnum):
    """What a term is about."""

    TARGET_WEIGHTS = "target weights"
    DRAFT_WEIGHTS = "draft weights"
    TARGET_CACHE = "target KV cache"
    DRAFT_CACHE = "draft KV cache"
    GRAPHS = "graphs"
    LOGITS = "verification logits"
    DRAFT_BUFFERS = "draft buffers"
    ACTIVATIONS = "activations"
    DRAFT_GRAPHS = "graphs of the draft"
    FRAGMENTATION = "fragmentation"
    OTHERS = "communication and other processes"
    PROCESSES = "the engine's processes"


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """Bytes of one item on one device. counted: the engine counts it as its own. source: where the number is from."""

    name: Item
    bytes: int
    counted: bool
    estimated: bool
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Graphs:
    """Whether a runner counts its graphs, up to a version: `default`, and whether the variable may change that."""

    runner: Runner
    until: Version
    default: bool
    by_variable: bool
    source: str


_NEVER_ENDS: Final = Version(10**9, 0)
_GRAPHS: Final = (
    _Graphs(runner=Runner.V1, until=Version(0, 17), default=False, by_variable=False, source="vLLM up to 0.17"),
    _Graphs(runner=Runner.V1, until=Version(0, 19), default=False, by_variable=True, source="vLLM 0.18 and 0.19"),
    _Graphs(runner=Runner.V1, until=_NEVER_ENDS, default=True, by_variable=True, source="vLLM since 0.20"),
    _Graphs(runner=Runner.V2, until=Version(0, 28), default=False, by_variable=False, source="Runner V2 up to 0.28"),
    _Graphs(runner=Runner.V2, until=_NEVER_ENDS, default=True, by_variable=True, source="Runner V2 since 0.29"),
)
"""vllm/v1/worker/gpu_worker.py, determine_available_memory, and profile_cudagraph_memory of both runners."""
_ASCEND_COUNTS: Final = (Version(0, 21, 0), Version(0, 22, 1))  # vllm-ascend pull request 9865, reverted by 11562

_CUDA_GRAPHS: Final = GIB  # 0.5 to 3 GiB is usual
_ASCEND_GRAPHS: Final = 3 * GIB  # full graphs of many sizes, the usual way to run out there
_ACTIVATIONS: Final = 2 * GIB  # 1 to 4 GiB is usual, by max_num_batched_tokens
_OTHERS: Final = GIB // 2  # 0.3 to 1 GiB is usual
_DRAFT_GRAPHS: Final = GIB  # the upper end: the draft's own, and the target's for 1 + K tokens of a request
_FRAGMENTATION: Final = GIB // 2  # the upper end: two models' steps allocate what one's leave in pieces
_CHUNK: Final = GIB  # vllm/v1/worker/gpu/spec_decode/rejection_sampler.py, MAX_CHUNK_BYTES
_CHUNKED: Final = Version(0, 28)


def graphs_counted(inputs: MemoryInputs) -> tuple[bool, str]:
    """Whether this engine counts its graphs, and the versions for which that holds."""
    if inputs.build.flavor is Flavor.VLLM_ASCEND:
        plugin = inputs.build.ascend or inputs.build.vllm
        first, last = _ASCEND_COUNTS
        counted = first <= plugin <= last
        return counted, "vllm-ascend 0.21.0 to 0.22.1" if counted else "vllm-ascend except 0.21.0 to 0.22.1"
    version = Version(inputs.build.vllm.major, inputs.build.vllm.minor)
    row = next(each for each in _GRAPHS if each.runner is inputs.runner and version <= each.until)
    told = inputs.case.env.get("VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS") if row.by_variable else None
    return (row.default if told is None else told.strip() == "1"), row.source


def verification_logits(inputs: MemoryInputs) -> int:
    """Bytes of logits that a real step has and the engine's profiling has not; tensor parallelism does not divide them.

    Profiling verifies one guessed token for each request, a step verifies K: rows x vocabulary in 16 bits, and copies
    in 32 bits: two of them on the first runner, one on the second, in chunks of 1 GiB since 0.28.
    """
    if inputs.method is None:
        return 0
    second = inputs.runner is Runner.V2
    profiled = 1 if second else 2
    rows = inputs.seqs * (inputs.tokens + 1)
    rows = min(rows, inputs.flag("max_num_batched_tokens") or rows)
    elements = max(0, rows - inputs.seqs * profiled) * inputs.target.vocab
    if not second:
        return elements * (2 + 8)
    copy = 4 * elements
    return elements * 2 + (min(_CHUNK, copy) if inputs.build.vllm >= _CHUNKED else copy)


def fixed_terms(inputs: MemoryInputs) -> tuple[Term, ...]:
    """Everything but the caches, which get what is left."""
    terms = (
        _weights(Item.TARGET_WEIGHTS, inputs, inputs.target, inputs.tensor_parallel, inputs.pipeline_parallel),
        _weights(Item.DRAFT_WEIGHTS, inputs, inputs.draft, inputs.draft_devices, 1),  # the last stage holds it, whole
        _graphs(inputs),
        _logits(inputs),
        _draft_buffers(inputs),
        Term(name=Item.ACTIVATIONS, bytes=_ACTIVATIONS, counted=True, estimated=True, source="estimate: 1 to 4 GiB"),
        Term(name=Item.OTHERS, bytes=_OTHERS, counted=False, estimated=True, source="estimate: 0.3 to 1 GiB"),
    )
    return tuple(term for term in terms if term is not None and term.bytes)


def added_terms(inputs: MemoryInputs) -> tuple[Term, ...]:
    """What speculation adds and the engine does not count, at the upper end of each estimate."""
    if inputs.method is None:
        return ()
    terms = [_logits(inputs)]
    if inputs.loads_a_draft:
        counted, versions = graphs_counted(inputs)
        size = 0 if counted or inputs.case.switched("enforce_eager") else _DRAFT_GRAPHS
        source = f"estimate: up to 1 GiB; not counted by {versions}"
        terms.append(Term(name=Item.DRAFT_GRAPHS, bytes=size, counted=False, estimated=True, source=source))
        source = "estimate: up to 0.5 GiB"
        terms.append(Term(name=Item.FRAGMENTATION, bytes=_FRAGMENTATION, counted=False, estimated=True, source=source))
    return tuple(term for term in terms if term.bytes)


def _weights(name: Item, inputs: MemoryInputs, model: ModelFacts | None, tensor: int, pipeline: int) -> Term | None:
    if model is None or model.weights is None:
        return None
    size = model.weights.share(tensor, pipeline, inputs.expert_devices)
    return Term(name=name, bytes=size, counted=True, estimated=model.weights.estimated, source=model.weights.source)


def _graphs(inputs: MemoryInputs) -> Term:
    counted, versions = graphs_counted(inputs)
    usual = _ASCEND_GRAPHS if inputs.build.flavor is Flavor.VLLM_ASCEND else _CUDA_GRAPHS
    source = f"estimate: 0.5 to 3 GiB; {'counted' if counted else 'not counted'} by {versions}"
    size = 0 if inputs.case.switched("enforce_eager") else usual
    return Term(name=Item.GRAPHS, bytes=size, counted=counted, estimated=True, source=source)


def _logits(inputs: MemoryInputs) -> Term:
    source = f"estimate: {inputs.seqs} requests x {inputs.tokens + 1} tokens x vocabulary of {inputs.target.vocab}"
    return Term(name=Item.LOGITS, bytes=verification_logits(inputs), counted=False, estimated=True, source=source)


def _draft_buffers(inputs: MemoryInputs) -> Term:
    """What a method allocates before the engine profiles: token ids, or the probabilities of guessed tokens."""
    size, source = 0, ""
    if inputs.method == "ngram_gpu":
        size, source = 4 * inputs.seqs * inputs.length, "token ids of every request, at 4 bytes"
    elif inputs.probabilistic and inputs.runner is Runner.V2:
        size = 4 * inputs.seqs * inputs.tokens * inputs.target.vocab
        source = "logits of guessed tokens, at most 4 bytes"
    return Term(name=Item.DRAFT_BUFFERS, bytes=size, counted=True, estimated=False, source=source)
