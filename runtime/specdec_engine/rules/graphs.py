"""Graphs of whole decoding steps: sizes with which the engine does not start, and requests that they do not cover."""

from collections.abc import Iterator
from typing import Final

from specdec_engine.batches import batches
from specdec_engine.graph_coverage import (
    Coverage,
    captures_decoding,
    coverage,
    graph_mode,
    users_largest,
    users_sizes,
)
from specdec_engine.graphs import LARGEST, rounded
from specdec_engine.model_runner import Runner, runner
from specdec_engine.resolve import Resolved
from specdec_engine.rule import Finding, at_flag
from specdec_engine.version import Flavor, Version

_SIZES: Final = "cudagraph_capture_sizes"
_END: Final = "max_cudagraph_capture_size"
_CONFIG: Final = "compilation_config"
_BUSY: Final = 32
"""Requests from which speculation gains little in any case: graphs that the engine chose need not cover more."""


def check(resolved: Resolved) -> Iterator[Finding]:
    """What keeps the engine from starting first, then what it does without an error."""
    if graph_mode(resolved.case) == "NONE":
        return
    yield from _contradicting(resolved)
    found = coverage(resolved)
    sizes = users_sizes(resolved.case)
    if sizes and found:
        yield from _odd(sizes, found[0], resolved)
    switched_off = users_largest(resolved.case) == 0
    if found and not switched_off and all(each.requests < each.asked for each in found):
        yield from _left(found[0], resolved)


def _contradicting(resolved: Resolved) -> Iterator[Finding]:
    """Settings of the user that exclude each other."""
    case, sizes, end = resolved.case, users_sizes(resolved.case), users_largest(resolved.case)
    for name in (_SIZES, _END):
        if case.part(_CONFIG, name) is not None and case.args.get(name) is not None:
            message = "it is also in --compilation-config: keep one of them"
            yield at_flag("GRAPH-TWICE", name, case.args[name], message)
    if sizes == []:
        yield at_flag("GRAPH-EMPTY", _SIZES, sizes, "write at least one size, or remove the key")
    room = [tokens for tokens, _ in batches(resolved)]
    if sizes and end is not None and end != sizes[-1] and room and min(room) >= sizes[-1]:
        message = f"{end} is not the largest of {_SIZES}, {sizes[-1]}; remove {_END}"
        yield at_flag("GRAPH-END", _END, end, message)


def _odd(sizes: list[int], found: Coverage, resolved: Resolved) -> Iterator[Finding]:
    """Sizes that are not whole numbers of requests."""
    if not captures_decoding(resolved.case):
        return
    step, release = found.step, resolved.case.build.ascend
    odd = [each for each in sizes if each % step]
    if not odd:
        return
    if release is not None and release < Version(0, 12):
        within = [each for each in odd if step < each <= found.asked * step]
        if within:
            message = f"{within[0]} is not a multiple of {step} (K + 1), and vllm-ascend {release} then does not start"
            yield at_flag("ASC-GRAPH-SIZES", _SIZES, sizes, f"{message}; use multiples")
        return
    kept = sorted(rounded(sizes, step, most=sizes[-1])) or "none of these for decoding"
    message = (
        f"{odd[0]} is not a multiple of {step} (K + 1): the engine rounds sizes up to multiples, drops those above"
    )
    yield at_flag("GRAPH-SIZES", _SIZES, sizes, f"{message} {sizes[-1]}, and captures {kept}; use multiples")


def _left(found: Coverage, resolved: Resolved) -> Iterator[Finding]:
    """Batches that no graph fits."""
    if found.largest < found.step and _needs_one(resolved):
        message = (
            f"the largest size is {found.largest}, and one request needs {found.step} (K + 1), so the engine does not "
            f"start; use multiples of {found.step}"
        )
        yield at_flag("GRAPH-START", _SIZES, list(found.sizes) or found.largest, message)
        return
    most = found.asked * found.step
    several = f"above {found.requests} request{'s' if found.requests > 1 else ''}"
    covered = several if found.requests else "with any number of requests"
    message = (
        f"decoding leaves the graphs {covered}, because each may have {found.step} tokens (K + 1) in a step and the "
        f"largest graph has {max(found.sizes, default=found.largest)}; a batch may have {found.asked}"
    )
    chosen = (found.chosen or found.limited) and resolved.method != "suffix"  # which seldom drafts that many
    if not chosen and found.requests > _BUSY:
        return
    rule = "GRAPH-COVERAGE" if chosen else "GRAPH-COVERAGE-DEFAULT"
    yield at_flag(rule, _place(resolved), found.asked, f"{message}; {_way_out(found, most, resolved)}")


def _needs_one(resolved: Resolved) -> bool:
    """Whether an engine without a graph for a decoding step certainly does not start.

    The older runner raises an error since 0.12 if it captures whole steps. On GPUs that is certain only where the mode
    is requested, because some backends cannot and change the default.
    """
    asked = isinstance(_mode(resolved), str) or resolved.case.build.flavor is Flavor.VLLM_ASCEND
    older = runner(resolved) is Runner.V1 and resolved.at_least("0.12")
    return older and asked and captures_decoding(resolved.case) and "attention_backend" not in resolved.case.args


def _mode(resolved: Resolved) -> object:
    return resolved.case.part(_CONFIG, "cudagraph_mode")


def _place(resolved: Resolved) -> str:
    """The flag that is to be changed: the sizes if the user chose them."""
    chosen = users_sizes(resolved.case) is not None or users_largest(resolved.case) is not None
    return _SIZES if chosen else "max_num_seqs"


def _way_out(found: Coverage, most: int, resolved: Resolved) -> str:
    fewer = f"set maxNumSeqs to {found.requests}" if found.requests else "use fewer draft tokens"
    if users_sizes(resolved.case) is not None:
        return f"add sizes up to {most} (more memory), or {fewer}"
    if users_largest(resolved.case) is not None or most > LARGEST:
        return f"add --max-cudagraph-capture-size={most} (more memory), or {fewer}"
    return f"add --cudagraph-capture-sizes with {most}, or {fewer}"
