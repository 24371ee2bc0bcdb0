"""Features of the server that meet speculation."""

from collections.abc import Iterator
from typing import Final

from specdec_operator.engine import flags
from specdec_operator.engine.rule import Finding
from specdec_operator.engine.rules.making import RECORDED, refused, stricter, warned
from specdec_operator.engine.runner import Runner, runner
from specdec_operator.engine.settled import Settled
from specdec_operator.engine.tables import known
from specdec_operator.engine.version import Flavor

_VLLM: Final = "config/vllm.py"

METRICS: Final = refused("METRICS-PLAIN", "Speculation metrics per request need speculation.", _VLLM, since="0.29")
PREFILL: Final = refused("FAST-PREFILL", "Fast prefill for KV sharing does not run with EAGLE-like methods.", _VLLM)
PROCESSORS: Final = stricter(
    "LOGITS-PROCESSORS",
    "Custom logits processors do not run with speculation on the older runner.",
    "v1/sample/logits_processor",
)
RECURRENT: Final = refused(
    "MAMBA-ALIGN",
    "In 0.15 the prefix cache of recurrent models does not run with speculation.",
    "model_executor/models/config.py",
    since="0.15",
    until="0.15",
)
RECURRENT_CHUNKS: Final = refused(
    "MAMBA-CHUNKS",
    "The prefix cache of recurrent models needs chunked prefill.",
    "model_executor/models/config.py",
    since="0.15",
)
ENCODER: Final = refused(
    "ENCODER-PRODUCER", "An instance that only encodes needs a multimodal model.", _VLLM, since="0.32"
)
POOLING: Final = warned("POOLING", "A pooling model generates nothing, so nothing is drafted.", RECORDED)
PARTIAL: Final = refused(
    "PARTIAL-PREFILL", "The engine has no concurrent partial prefills.", "engine/arg_utils.py _check_feature_supported"
)
GRAPHS: Final = warned(
    "GRAPH-SIZES",
    "Graph sizes are multiples of K+1, or decoding runs without graphs.",
    "config/compilation.py adjust_cudagraph_sizes_for_spec_decode",
    on=(Flavor.VLLM, Flavor.VLLM_ASCEND),
)

RULES: Final = (METRICS, PREFILL, PROCESSORS, RECURRENT, RECURRENT_CHUNKS, ENCODER, POOLING, PARTIAL, GRAPHS)

_EAGLE_LIKE: Final = frozenset(("eagle", "eagle3", "mtp", "dflash", "dspark"))


def check(settled: Settled) -> Iterator[Finding]:
    """Flag by flag."""
    args, speculates = settled.case.args, settled.speculates
    metrics = args.get("per_request_spec_decode_metrics")
    if metrics not in (None, "none") and not speculates:
        yield METRICS.broken("args.per_request_spec_decode_metrics", metrics, "remove it where nothing is speculated")
    if flags.switched(settled.case, "kv_sharing_fast_prefill") and settled.method in _EAGLE_LIKE:
        yield PREFILL.broken("args.kv_sharing_fast_prefill", True, f"remove it with {settled.method}")
    yield from _recurrent(settled)
    for name in ("max_num_partial_prefills", "max_long_partial_prefills"):
        if args.get(name) not in (None, 1):
            yield PARTIAL.broken(f"args.{name}", args[name], "remove it")
    role = flags.part(settled.case, "ec_transfer_config", "ec_role")
    if role == "ec_producer" and _text_only(settled):
        yield ENCODER.broken("args.ec_transfer_config", role, "remove it: the target has no encoder")
    if speculates:
        yield from _with_speculation(settled)


def _with_speculation(settled: Settled) -> Iterator[Finding]:
    args = settled.case.args
    if args.get("logits_processors") and runner(settled) is Runner.V1:
        yield PROCESSORS.broken("args.logits_processors", args["logits_processors"], "remove them, or speculation")
    if args.get("runner") == "pooling":
        yield POOLING.broken("args.runner", "pooling", "remove speculation")
    sizes = flags.part(settled.case, "compilation_config", "cudagraph_capture_sizes")
    sizes = sizes if isinstance(sizes, list) else args.get("cudagraph_capture_sizes")
    if isinstance(sizes, list) and settled.k is not None:
        odd = [each for each in sizes if isinstance(each, int) and each % (settled.k + 1)]
        if odd:
            yield GRAPHS.broken("args.cudagraph_capture_sizes", sizes, f"{odd[0]} is no multiple of {settled.k + 1}")


def _text_only(settled: Settled) -> bool:
    """Whether no architecture of the target takes anything but text, for certain."""
    named = settled.target.architectures if settled.target is not None else ()
    seen = [known("architectures", "multimodal", each, settled.version) for each in named]
    registered = all(known("architectures", "registered", each, settled.version) for each in named)
    return bool(seen) and registered and all(each is False for each in seen)


def _recurrent(settled: Settled) -> Iterator[Finding]:
    """The prefix cache of Mamba-like targets."""
    args = settled.case.args
    named = settled.target.architectures if settled.target is not None else ()
    if not any(known("architectures", "recurrent", each, settled.version) for each in named):
        return
    if not flags.switched(settled.case, "enable_prefix_caching"):
        return
    field, mode = "args.enable_prefix_caching", args.get("mamba_cache_mode")
    if args.get("enable_chunked_prefill") is False:
        yield RECURRENT_CHUNKS.broken(field, True, "remove --no-enable-chunked-prefill, or the prefix cache")
    if settled.speculates and settled.method is not None and mode in (None, "none", "align"):
        yield RECURRENT.broken(field, True, "remove --enable-prefix-caching, or speculation")
