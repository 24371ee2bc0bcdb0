"""Which batches an NPU captures as graphs where its engine's own choice misses the fullest one or takes too many.

A batch of n requests verifies n * (1 + K) tokens. One that is longer than the largest graph runs without, slower.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Final

from specdec_engine.case import Json
from specdec_engine.version import Build, Flavor, Version

_FLAG: Final = "compilation_config"
_USERS: Final = frozenset(
    (_FLAG, "cudagraph_capture_sizes", "max_cudagraph_capture_size", "cuda_graph_sizes", "optimization_level")
)
"""Flags with which users choose graphs themselves."""
_LARGEST: Final = 512
"""Tokens of the largest graph that any release captures by itself."""
_FITTING: Final = Version(0, 18)
"""Since then vllm-ascend ends at maxNumSeqs * (1 + K); vLLM's own end, before, is another one (0.12 on: twice that)."""


def graph_flags(build: Build, flags: Json, config: Json, users: Json) -> Iterator[tuple[str, Any]]:
    """The flag that chooses graphs, where the engine's own choice is not as good.

    flags: what fields of the spec stand for; config: the speculative configuration; users: the user's own flags, which
    are never overridden. With a schedule of K by batch size the engine chooses.
    """
    requests, tokens = flags.get("max_num_seqs"), config.get("num_speculative_tokens")
    chosen = flags.get("enforce_eager") or _USERS & users.keys()
    if build.flavor is not Flavor.VLLM_ASCEND or chosen or "num_speculative_tokens_per_batch_size" in config:
        return
    if requests and tokens and (sizes := capture_sizes(build, requests=requests, tokens=tokens)):
        yield _FLAG, {"cudagraph_capture_sizes": sizes}


def capture_sizes(build: Build, *, requests: int, tokens: int) -> list[int]:
    """Sizes in tokens, all multiples of 1 + K, up to the fullest batch; none where the engine's own are the same.

    None either where the fullest batch exceeds the largest graph: the engine ends there, too.
    """
    step = 1 + tokens
    most = requests * step
    if most > _LARGEST:
        return []
    usual = tuple(_usual(most))
    own = _rounded(usual, step, most=usual[-1])
    wanted = {*_rounded(usual, step, most=most), most}
    return [] if own == wanted and (build.ascend or build.vllm) >= _FITTING else sorted(wanted)


def _usual(most: int) -> Iterator[int]:
    """What the engine captures by itself up to a size."""
    yield from (size for size in (1, 2, 4) if size <= most)
    yield from range(8, min(most + 1, 256), 8)
    yield from range(256, most + 1, 16)


def _rounded(sizes: Iterable[int], step: int, *, most: int) -> set[int]:
    """Rounded up to multiples of `step`; what then exceeds `most` is dropped, as in the engine."""
    rounded = (-(-size // step) * step for size in sizes)
    return {size for size in rounded if size <= most}
