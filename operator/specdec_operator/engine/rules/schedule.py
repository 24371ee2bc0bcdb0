"""A schedule of draft tokens by batch size: its shape, and where it is heeded."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from specdec_operator.engine import flags
from specdec_operator.engine.rule import Finding
from specdec_operator.engine.rules.making import noted, stricter, warned
from specdec_operator.engine.runner import Runner, runner
from specdec_operator.engine.settled import Settled
from specdec_operator.engine.version import Flavor, holds

_UTILS: Final = "v1/spec_decode/dynamic/utils.py, called by the scheduler's constructor"

SHAPE: Final = stricter(
    "SCHEDULE-SHAPE",
    "Ranges start at batch size 1, do not overlap, do not end before they start, and hold no negative tokens.",
    _UTILS,
    since="0.24",
)
CLAMPED: Final = warned("SCHEDULE-ABOVE-K", "Values above K are lowered to K.", _UTILS, since="0.24")
GAPS: Final = noted("SCHEDULE-GAPS", "Between and after the ranges the last value goes on.", _UTILS, since="0.24")
PARALLEL: Final = warned(
    "SCHEDULE-DP", "Since 0.26 the engine drops the schedule with data parallelism.", "config/vllm.py", since="0.26"
)
DEADLOCK: Final = stricter(
    "SCHEDULE-DP-DEADLOCK",
    "In 0.24 and 0.25 a schedule with data parallelism can block all ranks.",
    "config/vllm.py",
    since="0.24",
    until="0.25",
)
SUFFIX: Final = stricter(
    "SCHEDULE-SUFFIX",
    "Up to 0.32 suffix stops at run time over a schedule.",
    "AssertionError of the proposer",
    since="0.24",
    until="0.32",
)
ASCEND: Final = stricter(
    "ASC-SCHEDULE",
    "vllm-ascend heeds no schedule with suffix or dspark, nor with decode context parallelism.",
    "vllm-ascend PR 12368",
    since="0.24",
    on=(Flavor.VLLM_ASCEND,),
)
UNREAD: Final = warned(
    "SCHEDULE-UNREAD",
    "Model Runner V2 up to 0.31 drafts K tokens all the same; only verification shrinks.",
    "vllm issue 51510",
    since="0.25",
    until="0.31",
    on=(Flavor.VLLM,),
)
GRAPHS: Final = noted(
    "SCHEDULE-GRAPHS",
    "The older runner captures piecewise graphs only with a schedule.",
    "config/vllm.py",
    since="0.24",
)

RULES: Final = (SHAPE, CLAMPED, GAPS, PARALLEL, DEADLOCK, SUFFIX, ASCEND, UNREAD, GRAPHS)

_FIELD: Final = "speculative_config.num_speculative_tokens_per_batch_size"


def check(settled: Settled) -> Iterator[Finding]:
    """Whether the schedule is looked at, and then its shape."""
    rows = settled.value("num_speculative_tokens_per_batch_size")
    if rows is None:
        return
    ranks = flags.size(settled.case, "data_parallel_size") or 1
    if ranks > 1:
        yield PARALLEL.broken(_FIELD, rows, f"with {ranks} ranks every step drafts K tokens; remove the schedule")
        yield DEADLOCK.broken(_FIELD, rows, f"remove the schedule, or run one rank instead of {ranks}")
    if ranks == 1 or holds(settled.version, "", "0.25"):
        yield from _shape(rows, settled)
    if settled.method == "suffix":
        yield SUFFIX.broken(_FIELD, rows, "suffix draws its own length; remove the schedule")
    context = (flags.size(settled.case, "decode_context_parallel_size") or 1) > 1
    if settled.method in ("suffix", "dspark") or context:
        yield ASCEND.broken(_FIELD, rows, "remove the schedule")
    if runner(settled) is Runner.V2:
        yield UNREAD.broken(_FIELD, rows, "use 0.32 or later to save the drafting too")
    elif runner(settled) is Runner.V1:
        yield GRAPHS.broken(_FIELD, rows, "decoding loses its full graphs")


def _shape(rows: list[tuple[int, int, int]], settled: Settled) -> Iterator[Finding]:
    if fault := _fault(rows):
        yield SHAPE.broken(_FIELD, rows, fault)
        return
    if settled.k is not None and (above := [row for row in rows if row[2] > settled.k]):
        yield CLAMPED.broken(_FIELD, rows, f"{above[0][2]} tokens become {settled.k}")
    ends = sorted(rows)
    if any(later[0] != earlier[1] + 1 for earlier, later in pairwise(ends)):
        yield GAPS.broken(_FIELD, rows, "there are batch sizes between the ranges")


def _fault(rows: list[tuple[int, int, int]]) -> str:
    """What the scheduler's constructor says; empty where the schedule stands."""
    if not rows:
        return "the schedule is empty; remove it"
    for start, end, tokens in rows:
        if start <= 0 or end < start:
            return f"the range from {start} to {end} is none; batch sizes count from 1"
        if tokens < 0:
            return f"{tokens} tokens are fewer than none"
    ends = sorted(rows)
    if any(later[0] <= earlier[1] for earlier, later in pairwise(ends)):
        return "two ranges overlap"
    return "" if ends[0][0] == 1 else f"the first range starts at {ends[0][0]}; start at 1"
