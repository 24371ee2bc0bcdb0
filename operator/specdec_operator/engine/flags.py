"""The server's flags as numbers, and the defaults that the engine fills in where they do not depend on the device."""

from typing import Any, Final

from specdec_operator.engine.case import Case
from specdec_operator.engine.facts import Facts
from specdec_operator.engine.version import Flavor

_CPU_TOKENS: Final = 2048
_CPU_REQUESTS: Final = 128
_LONG_CONTEXT: Final = "VLLM_ALLOW_LONG_MAX_MODEL_LEN"


def size(case: Case, name: str, default: int = 1) -> int | None:
    """A whole number among the flags; None where something else stands there."""
    value = case.args.get(name, default)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def switched(case: Case, name: str) -> bool:
    """Whether a switch is explicitly on."""
    return case.args.get(name) is True


def part(case: Case, name: str, key: str) -> Any:
    """A value inside a flag that takes an object; None where it is not there."""
    value = case.args.get(name)
    return value.get(key) if isinstance(value, dict) else None


def world(case: Case) -> int:
    """Tensor parallel size times pipeline parallel size."""
    return (size(case, "tensor_parallel_size") or 1) * (size(case, "pipeline_parallel_size") or 1)


def context(case: Case, target: Facts | None) -> int | None:
    """The longest sequence of the target in tokens: what was asked for, or what its config allows."""
    asked = size(case, "max_model_len", 0)
    if asked is not None and asked > 0:
        return asked
    return target.context if target is not None else None


def allows_long_context(case: Case) -> bool:
    """Whether the engine was told to believe a longer context than the config's."""
    return case.env.get(_LONG_CONTEXT, "0") not in ("", "0")


def batch_tokens(case: Case, target: Facts | None) -> int | None:
    """max_num_batched_tokens; None where it depends on the device."""
    asked = size(case, "max_num_batched_tokens", 0)
    if asked:
        return asked
    if case.build.flavor is not Flavor.VLLM_CPU:
        return None
    tokens, longest = _CPU_TOKENS * world(case), context(case, target)
    if longest is None:
        return tokens
    if case.args.get("enable_chunked_prefill") is False:
        tokens = max(tokens, longest)
    return min(tokens, longest * (size(case, "max_num_seqs", 0) or _CPU_REQUESTS * world(case)))


def requests(case: Case, target: Facts | None) -> int | None:
    """max_num_seqs; None where it depends on the device."""
    asked = size(case, "max_num_seqs", 0)
    if asked:
        return asked
    tokens = batch_tokens(case, target)
    if case.build.flavor is not Flavor.VLLM_CPU or tokens is None:
        return None
    return min(_CPU_REQUESTS * world(case), tokens)
