"""How many tokens and requests a batch holds: the requested numbers, or the engine's defaults for the device."""

from typing import Final

from specdec_engine.case import Case
from specdec_engine.resolve import Resolved
from specdec_engine.tables import table
from specdec_engine.version import Flavor, Version

_CPU: Final = (2048, 128)
"""What the CPU engine fills in for each of its devices."""
_NPU: Final = (2048, 256)
"""What vllm-ascend fills in: its devices have 64 GiB at most, below the first step of the table."""
_GIB: Final = 1 << 30
Batch = tuple[int, int | None]
"""max_num_batched_tokens, and max_num_seqs where it is known."""


def batches(resolved: Resolved) -> tuple[Batch, ...]:
    """What a batch holds: on an unknown device all that it may hold. Empty where nothing is known."""
    case = resolved.case
    given = case.size("max_num_batched_tokens", 0)
    if given and case.size("max_num_seqs", 0):
        return ((given, case.size("max_num_seqs")),)
    if case.switched("enable_dbo") or case.switched("enable_expert_parallel"):
        return ((given, None),) if given else ()  # several ranks of experts are filled in otherwise
    found = [_filled_in(*each, resolved) for each in _defaults(case)]
    return tuple(dict.fromkeys(found))


def _defaults(case: Case) -> tuple[tuple[int, int], ...]:
    """Tokens and requests that the engine takes by itself, for each device that the case may get."""
    match case.build.flavor:
        case Flavor.VLLM_CPU:
            ranks = case.size("tensor_parallel_size") * case.size("pipeline_parallel_size")
            return ((_CPU[0] * ranks, _CPU[1] * ranks),)
        case Flavor.VLLM_ASCEND:
            return (_NPU,)
    return tuple((row["tokens"], row["requests"]) for row in _rows(case))


def _rows(case: Case) -> list[dict[str, int]]:
    """The rows of the release, or of the one before it, that fit the device."""
    releases = table("batches")["releases"]
    before = [each for each in releases if Version.parse(each) <= case.build.vllm]
    rows: list[dict[str, int]] = releases[before[-1] if before else min(releases, key=Version.parse)]
    if case.device_bytes is None:
        return rows
    fits = [row for row in rows if row["gib"] * _GIB <= case.device_bytes] or rows[:1]
    name = case.device_name.lower()
    if fits[-1] is rows[0] or fits[-1] is rows[-1] or (name and _SMALL not in name):
        return fits[-1:]
    return rows[:1] if name else [rows[0], fits[-1]]


_SMALL: Final = "a100"
"""The larger A100 is filled in like a small device, by its name."""


def _filled_in(tokens: int, requests: int, resolved: Resolved) -> Batch:
    """As EngineArgs does: doubled for throughput, the longest prompt without chunks, never more than fits."""
    case, longest = resolved.case, resolved.context
    factor = 2 if case.args.get("performance_mode") == "throughput" else 1
    most = case.size("max_num_seqs", 0) or requests * factor
    given = case.size("max_num_batched_tokens", 0)
    if not given:
        given = tokens * factor
        if longest is not None:
            given = max(given, longest) if case.args.get("enable_chunked_prefill") is False else given
            given = min(given, most * longest)
    return given, case.size("max_num_seqs", 0) or min(most, given)
