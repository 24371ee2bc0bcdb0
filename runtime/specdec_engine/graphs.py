"""Which batches an NPU captures as graphs where its engine's own choice misses the fullest one or takes too many.

A batch of n requests verifies n * (1 + K) tokens. One that is longer than the largest graph runs without, slower.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from specdec_engine.case import Json
from specdec_engine.version import Build, Flavor, Version

_FLAG: Final = "compilation_config"
_USERS: Final = frozenset(
    ("cudagraph_capture_sizes", "max_cudagraph_capture_size", "cuda_graph_sizes", "optimization_level")
)
"""Flags with which users choose graphs themselves."""
_CHOICES: Final = frozenset(("cudagraph_capture_sizes", "max_cudagraph_capture_size"))
"""The same inside --compilation-config."""
_NOTHING: Final = (0, "NONE")
"""The mode of compilation, its level and the mode of graphs with which an engine captures none."""
LARGEST: Final = 512
"""Tokens of the largest graph that an engine captures by itself, except on Blackwell."""
_FEW: Final = 4
"""Requests up to which each number has its graph, where the operator chooses them."""
_FITTING: Final = Version(0, 18)
"""Since then vllm-ascend ends at maxNumSeqs * (1 + K); vLLM's own end, before, is another one (0.12 on: twice that)."""


def graph_flags(build: Build, flags: Json, config: Json, users: Json) -> Iterator[tuple[str, Any]]:
    """The flag that chooses graphs, where the engine's own choice is not as good.

    flags: what fields of the spec stand for; config: the speculative configuration; users: the user's own flags, whose
    choices are kept: sizes are added to the user's --compilation-config if it has none. With a schedule of K by batch
    size the engine chooses.
    """
    requests, tokens = flags.get("max_num_seqs"), config.get("num_speculative_tokens")
    chosen = flags.get("enforce_eager") or _USERS & users.keys() or _are_chosen(users.get(_FLAG))
    if build.flavor is not Flavor.VLLM_ASCEND or chosen or "num_speculative_tokens_per_batch_size" in config:
        return
    if requests and tokens and (sizes := capture_sizes(build, requests=requests, tokens=tokens)):
        yield _FLAG, {**(users.get(_FLAG) or {}), "cudagraph_capture_sizes": sizes}


def _are_chosen(config: Any) -> bool:
    """Whether the user's --compilation-config chooses graphs or none, or cannot be completed."""
    if config is None:
        return False
    if not isinstance(config, Mapping):
        return True
    modes = (config.get(key) for key in ("cudagraph_mode", "mode", "level"))
    none = any((each.upper() if isinstance(each, str) else each) in _NOTHING for each in modes if each is not False)
    return bool(_CHOICES & config.keys()) or none


def capture_sizes(build: Build, *, requests: int, tokens: int) -> list[int]:
    """Sizes in tokens, all multiples of 1 + K, up to the fullest batch; none where the engine's own are as good.

    Each of the first four numbers of requests has its size: an engine that misses only one of those is left alone,
    unless a batch has no more requests. None either where the fullest batch exceeds the largest graph: the engine ends
    there, too.
    """
    step = 1 + tokens
    most = requests * step
    if most > LARGEST:
        return []
    usual = tuple(own_sizes(most))
    own = rounded(usual, step, most=usual[-1])
    wanted = {*rounded(usual, step, most=most), most}
    few = {step * number for number in range(1, min(requests, _FEW) + 1)}
    good = own == (wanted | few if requests <= _FEW else wanted)
    return [] if good and (build.ascend or build.vllm) >= _FITTING else sorted(wanted | few)


def own_sizes(most: int) -> Iterator[int]:
    """What the engine captures by itself up to a size."""
    yield from (size for size in (1, 2, 4) if size <= most)
    yield from range(8, min(most + 1, 256), 8)
    yield from range(256, most + 1, 16)


def rounded(sizes: Iterable[int], step: int, *, most: int) -> set[int]:
    """Rounded up to multiples of `step`; what then exceeds `most` is dropped, as in the engine."""
    upwards = (-(-size // step) * step for size in sizes)
    return {size for size in upwards if size <= most}
