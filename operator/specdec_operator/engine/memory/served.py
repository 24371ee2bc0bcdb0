"""How a model is served, as far as memory depends on it: parallelism, batch, length, graphs."""

from dataclasses import dataclass

from specdec_operator.engine.case import Case, Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """The engine's flags; None: its default.

    draft_tensor_parallel: as the user wrote it; not every method heeds it.
    expert_devices: devices that share the routed experts; None: as many as tensor_parallel.
    max_num_seqs: requests in one batch. max_model_len: tokens in the longest one.
    max_num_batched_tokens: bounds the verified tokens of a step.
    estimates_graphs: the engine was told to count its graphs (True) or not to (False).
    """

    tensor_parallel: int = 1
    pipeline_parallel: int = 1
    draft_tensor_parallel: int | None = None
    expert_devices: int | None = None
    max_num_seqs: int | None = None
    max_model_len: int | None = None
    max_num_batched_tokens: int | None = None
    enforce_eager: bool = False
    estimates_graphs: bool | None = None


def served_of(case: Case) -> Served:
    """What the flags and the environment of a case say."""
    args = case.args
    tensor_parallel = whole(args, "tensor_parallel_size") or 1
    # With expert parallelism the experts are spread over tensor and data parallelism together.
    spread = tensor_parallel * (whole(args, "data_parallel_size") or 1)
    counts = case.env.get("VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS")
    return Served(
        tensor_parallel=tensor_parallel,
        pipeline_parallel=whole(args, "pipeline_parallel_size") or 1,
        draft_tensor_parallel=whole(case.speculation or {}, "draft_tensor_parallel_size"),
        expert_devices=spread if args.get("enable_expert_parallel") is True else None,
        max_num_seqs=whole(args, "max_num_seqs"),
        max_model_len=whole(args, "max_model_len"),
        max_num_batched_tokens=whole(args, "max_num_batched_tokens"),
        enforce_eager=args.get("enforce_eager") is True,
        estimates_graphs=None if counts is None else counts.strip() == "1",
    )


def whole(values: Json, name: str) -> int | None:
    """A positive whole number among the values; None where it is absent or anything else."""
    value = values.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None
