"""How many requests decode inside the captured graphs, from the user's sizes or the engine's own.

A decoding batch of n requests has n * (1 + K) tokens. One that is longer than the largest graph runs without it.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from specdec_engine.batches import batches
from specdec_engine.case import Case
from specdec_engine.graphs import LARGEST, own_sizes, rounded
from specdec_engine.resolve import Resolved
from specdec_engine.version import Flavor, Version

_CONFIG: Final = "compilation_config"
_FULL_BY_DEFAULT: Final = Version(0, 20)
"""Since then vllm-ascend keeps vLLM's default mode; up to 0.18 its platform.py replaces it by PIECEWISE."""
_PIECEWISE: Final = "PIECEWISE"
_BLACKWELL: Final = re.compile(r"\bG?B[123]00\b")
"""Devices whose largest graph has twice as many tokens."""
DEFAULT_MODE: Final = "FULL_AND_PIECEWISE"
"""vLLM's default mode, as recorded of 0.33 and of vllm-ascend 0.23."""


def graph_mode(case: Case) -> str:
    """The mode of graphs: the requested one in capitals, else the engine's default. NONE: there are no graphs."""
    if case.switched("enforce_eager") or case.build.flavor is Flavor.VLLM_CPU or _unoptimized(case):
        return "NONE"
    mode = case.part(_CONFIG, "cudagraph_mode")
    if isinstance(mode, str):
        return mode.upper()
    ascend = case.build.ascend
    return _PIECEWISE if ascend is not None and ascend < _FULL_BY_DEFAULT else DEFAULT_MODE


def _unoptimized(case: Case) -> bool:
    """Whether a level of optimisation is chosen that captures nothing."""
    levels = (case.args.get("optimization_level"), case.part(_CONFIG, "level"), case.part(_CONFIG, "mode"))
    return any(level in (0, "0") and level is not False for level in levels)


def captures_decoding(case: Case) -> bool:
    """Whether whole decoding steps are captured, which need sizes that are multiples of 1 + K."""
    return graph_mode(case).startswith("FULL")


def users_sizes(case: Case) -> list[int] | None:
    """The sizes in tokens that the user chose; None: none, or they are not whole numbers."""
    config = case.args.get(_CONFIG)
    for value in (
        config.get("cudagraph_capture_sizes") if isinstance(config, Mapping) else None,
        case.args.get("cudagraph_capture_sizes"),
    ):
        if isinstance(value, list) and all(map(_is_size, value)):
            return sorted({int(each) for each in value})
    return None


def _is_size(value: Any) -> bool:
    return (isinstance(value, int) and not isinstance(value, bool)) or (isinstance(value, str) and value.isdigit())


def users_largest(case: Case) -> int | None:
    """The size in tokens at which the user lets graphs end."""
    config = case.args.get(_CONFIG)
    inside = config.get("max_cudagraph_capture_size") if isinstance(config, Mapping) else None
    value = case.args.get("max_cudagraph_capture_size") if inside is None else inside
    return value if isinstance(value, int) and not isinstance(value, bool) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """What graphs cover. step: tokens of a decoding request, 1 + K. largest: tokens of the largest graph.

    sizes: those that decoding uses. asked: requests that a batch may have.
    chosen: whether the user chose the sizes, or where they end. limited: whether the user chose the number of requests.
    """

    step: int
    largest: int
    sizes: tuple[int, ...]
    asked: int
    chosen: bool
    limited: bool

    @property
    def requests(self) -> int:
        """Decoding requests up to which a batch fits a graph."""
        return min(max(self.sizes, default=0) // self.step, self.asked)


def coverage(resolved: Resolved) -> tuple[Coverage, ...]:
    """On each device that the case may get; empty where nothing is captured, or the number of tokens is not known."""
    case, k = resolved.case, resolved.k
    varies = resolved.value("num_speculative_tokens_per_batch_size") is not None
    if not resolved.speculates or not k or k < 0 or varies or graph_mode(case) == "NONE":
        return ()
    if _enlarges(case, k):
        return ()
    found = (_coverage(k + 1, tokens, asked, resolved) for tokens, asked in _batches(resolved))
    return tuple(dict.fromkeys(found))


def _batches(resolved: Resolved) -> list[tuple[int, int]]:
    """Tokens and requests of a batch. If the tokens are not known, they limit nothing."""
    found = [(tokens, asked) for tokens, asked in batches(resolved) if asked]
    asked = resolved.case.size("max_num_seqs", 0)
    tokens = resolved.case.size("max_num_batched_tokens", 0) or max(
        users_sizes(resolved.case) or (), default=2 * LARGEST
    )
    return found or ([(tokens, asked)] if asked else [])


def _enlarges(case: Case, k: int) -> bool:
    """Whether the plug-in multiplies all sizes by 1 + K itself: vllm-ascend 0.11, utils.py update_aclgraph_sizes."""
    ascend = case.build.ascend
    return ascend is not None and ascend < Version(0, 12) and k > 1 and not captures_decoding(case)


def _coverage(step: int, tokens: int, asked: int, resolved: Resolved) -> Coverage:
    case, chosen, end = resolved.case, users_sizes(resolved.case), users_largest(resolved.case)
    if chosen is not None:
        sizes = [each for each in chosen if each <= tokens]
    else:
        last = min(_default_end(step, asked, resolved) if end is None else end, tokens)
        sizes = [*own_sizes(last), *_uniform(step, asked, last, resolved, users=end is not None)]
    largest = max(sizes, default=0)
    if captures_decoding(case):
        sizes = sorted(rounded(sizes, step, most=largest)) or ([step] if step <= largest else [])
    return Coverage(
        step=step,
        largest=largest,
        sizes=tuple(sizes),
        asked=asked,
        chosen=chosen is not None or end is not None,
        limited=bool(case.size("max_num_seqs", 0)),
    )


def _default_end(step: int, asked: int, resolved: Resolved) -> int:
    """config/vllm.py _set_cudagraph_sizes; vllm-ascend's platform.py since 0.18."""
    ascend = resolved.case.build.ascend
    if ascend is not None and ascend >= Version(0, 18):
        return min(asked * step, LARGEST)
    most = LARGEST * 2 if resolved.at_least("0.28") and _BLACKWELL.search(resolved.case.device_name) else LARGEST
    return min(asked * (step if resolved.at_least("0.12") else 1) * 2, most)


def _uniform(step: int, asked: int, largest: int, resolved: Resolved, *, users: bool) -> Iterator[int]:
    """Whole numbers of requests, which vLLM adds to its own sizes since 0.32."""
    if not users and resolved.at_least("0.32"):
        yield from (requests * step for requests in range(1, min(asked, largest // step) + 1))
