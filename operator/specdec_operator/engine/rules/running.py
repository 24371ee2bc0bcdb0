"""The model runner: what only one of the two can do."""

from collections.abc import Iterator
from typing import Final

from specdec_operator.engine import flags
from specdec_operator.engine.rule import Finding
from specdec_operator.engine.rules.making import refused, stricter
from specdec_operator.engine.runner import VARIABLE, Runner, forced, lacking, runner
from specdec_operator.engine.settled import Settled
from specdec_operator.engine.version import Flavor

_VLLM: Final = "config/vllm.py"
_CPU: Final = (Flavor.VLLM_CPU,)

V2: Final = refused(
    "V2-LACKS",
    "A forced Model Runner V2 refuses what it cannot do.",
    f"{_VLLM} _validate_v2_model_runner",
    since="0.20",
    on=(Flavor.VLLM, Flavor.VLLM_CPU),
)
TRITON: Final = refused(
    "V2-TRITON",
    "Model Runner V2 needs Triton, which the CPU engine does not have.",
    _VLLM,
    since="0.25",
    on=_CPU,
)
DSPARK: Final = refused(
    "DSPARK-RUNNER",
    "dspark runs on Model Runner V2 only.",
    f"{_VLLM} _get_v1_model_runner_unsupported_features",
    since="0.25",
)
ADAPTIVE: Final = refused("ADAPTIVE-RUNNER", "Adaptive verification runs on Model Runner V2 only.", _VLLM, since="0.28")
MIXED: Final = refused(
    "DFLASH-MIXED",
    "A dflash draft that mixes sliding and full attention runs on Model Runner V2 only.",
    _VLLM,
    since="0.30",
)
CANDIDATES: Final = refused(
    "DFLASH-CANDIDATES", "A dflash draft with a candidate head runs on Model Runner V2 only.", _VLLM, since="0.30"
)
ADAPTIVE_LORA: Final = refused("ADAPTIVE-LORA", "Adaptive verification does not run with LoRA.", _VLLM, since="0.28")
ADAPTIVE_PP: Final = refused(
    "ADAPTIVE-PP", "Adaptive verification does not run with pipeline parallelism.", _VLLM, since="0.28"
)
ADAPTIVE_GRAPHS: Final = refused(
    "ADAPTIVE-GRAPHS", "Adaptive verification needs full CUDA graphs.", _VLLM, since="0.28"
)
ADAPTIVE_ARGMAX: Final = refused(
    "ADAPTIVE-ARGMAX",
    "Adaptive verification reads the draft's logits, which a local argmax never makes.",
    "config/speculative.py",
    since="0.30",
)
ADAPTIVE_METHOD: Final = stricter(
    "ADAPTIVE-METHOD",
    "In 0.28 and 0.29 adaptive verification works with dspark only.",
    "config/speculative.py",
    since="0.28",
    until="0.29",
)

RULES: Final = (
    TRITON,
    V2,
    DSPARK,
    ADAPTIVE,
    MIXED,
    CANDIDATES,
    ADAPTIVE_LORA,
    ADAPTIVE_PP,
    ADAPTIVE_GRAPHS,
    ADAPTIVE_ARGMAX,
    ADAPTIVE_METHOD,
)

_CANDIDATES: Final = frozenset(("DFlash2DraftModel", "LiLiCorrDraftModel"))
_NO_FULL_GRAPHS: Final = frozenset(("NONE", "PIECEWISE"))


def check(settled: Settled) -> Iterator[Finding]:
    """What the chosen runner refuses."""
    if forced(settled) is Runner.V2:
        yield from _forced(settled)
    elif settled.speculates:
        yield from _older(settled)
    if settled.value("enable_adaptive_verification", False):
        yield from _adaptive(settled)


def _forced(settled: Settled) -> Iterator[Finding]:
    value = settled.case.env[VARIABLE]
    yield TRITON.broken(f"env.{VARIABLE}", value, "remove the variable on the CPU engine")
    if missing := [*lacking(settled), *_plain_lacks(settled)]:
        yield V2.broken(f"env.{VARIABLE}", value, f"{settled.case.build} cannot do {', '.join(missing)} there")


def _plain_lacks(settled: Settled) -> list[str]:
    """What Model Runner V2 lacked up to 0.28, speculation or not."""
    wanted = {
        "enable_dbo": "dual batch overlap",
        "kv_sharing_fast_prefill": "fast prefill",
        "logits_processors": "custom logits processors",
        "ec_transfer_config": "encoder cache transfer",
    }
    return [] if settled.at_least("0.29") else [text for name, text in wanted.items() if settled.case.args.get(name)]


def _older(settled: Settled) -> Iterator[Finding]:
    """Things for Model Runner V2 that end up on the older one."""
    on_cpu = settled.case.build.flavor is Flavor.VLLM_CPU
    if settled.method == "dspark" and (on_cpu or forced(settled) is Runner.V1):
        where = "the CPU engine has no Triton" if on_cpu else f"{VARIABLE} is 0"
        yield DSPARK.broken("speculative_config.method", "dspark", f"dspark needs Model Runner V2, and {where}")
    if runner(settled) is not Runner.V1:
        return
    if settled.value("enable_adaptive_verification", False):
        message = "remove it: this case gets the older runner"
        yield ADAPTIVE.broken("speculative_config.enable_adaptive_verification", True, message)
    if settled.method != "dflash" or settled.draft is None:
        return
    layers = settled.draft.config.get("layer_types") or []
    sliding = sum(each == "sliding_attention" for each in layers) if isinstance(layers, list) else 0
    if 0 < sliding < len(layers):
        yield MIXED.broken("draft.layer_types", layers, f"{sliding} of {len(layers)} layers slide; use another draft")
    if _CANDIDATES & set(settled.draft.architectures):
        yield CANDIDATES.broken("draft.architectures", list(settled.draft.architectures), "use a plain dflash draft")


def _adaptive(settled: Settled) -> Iterator[Finding]:
    field, case = "speculative_config.enable_adaptive_verification", settled.case
    if flags.switched(case, "enable_lora"):
        yield ADAPTIVE_LORA.broken(field, True, "remove it, or LoRA")
    if (flags.size(case, "pipeline_parallel_size") or 1) > 1:
        yield ADAPTIVE_PP.broken(field, True, "remove it, or pipeline parallelism")
    mode = flags.part(case, "compilation_config", "cudagraph_mode")
    if flags.switched(case, "enforce_eager") or (isinstance(mode, str) and mode.upper() in _NO_FULL_GRAPHS):
        yield ADAPTIVE_GRAPHS.broken(field, True, "use FULL, FULL_DECODE_ONLY or FULL_AND_PIECEWISE graphs")
    if settled.value("use_local_argmax_reduction", False) and settled.method not in ("dspark", None):
        yield ADAPTIVE_ARGMAX.broken(field, True, "remove use_local_argmax_reduction")
    if settled.method not in ("dspark", None):
        yield ADAPTIVE_METHOD.broken(field, True, f"remove it with {settled.method}")
