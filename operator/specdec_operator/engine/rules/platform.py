"""What the CPU engine cannot do."""

from collections.abc import Iterator
from typing import Final

from specdec_operator.engine import flags
from specdec_operator.engine.rule import Finding
from specdec_operator.engine.rules.making import refused, stricter
from specdec_operator.engine.settled import Settled
from specdec_operator.engine.tables import known
from specdec_operator.engine.version import Flavor

_CPU: Final = (Flavor.VLLM_CPU,)

SPECULATION: Final = stricter(
    "CPU-SPECULATION",
    "The CPU engine speculates since 0.20.",
    "AssertionError at start: spec decode is not supported",
    until="0.19",
    on=_CPU,
)
SLEEP: Final = refused("CPU-SLEEP", "The CPU engine has no sleep mode.", "config/model.py", on=_CPU)
CACHE: Final = refused(
    "CPU-FP8-CACHE",
    "Up to 0.20 the CPU engine has no FP8 KV cache with chunked prefill or prefix caching.",
    "platforms/cpu.py",
    until="0.20",
    on=_CPU,
)
RAY: Final = refused("RAY-MISSING", "Ray must be installed to spread over it.", "config/parallel.py", on=_CPU)
LATENT: Final = stricter(
    "CPU-MLA",
    "Up to 0.25 the CPU engine has no multi-head latent attention.",
    "platforms/cpu.py get_attn_backend_cls",
    until="0.25",
    on=_CPU,
)

PINNED: Final = stricter(
    "CPU-PINNED",
    "ngram_gpu, and the example connector for hidden states outside of this release's image, need pinned memory.",
    "measured on 0.32.0: RuntimeError: pin_memory=True requires a CUDA or other accelerator backend",
    since="0.18",
    on=_CPU,
)
RECURRENT: Final = stricter(
    "CPU-MTP-RECURRENT",
    "On the CPU engine mtp stops at the first request of a recurrent target.",
    "measured on 0.32.0 with qwen3_next: precopy_mamba_align_fused_kernel has no CPU variant",
    on=_CPU,
)
SYNTHETIC: Final = stricter(
    "CPU-SYNTHETIC",
    "On the CPU engine synthetic acceptance stops at the first request.",
    "measured on 0.32.0: AssertionError: Synthetic acceptance not supported with CPU sampling",
    since="0.20",
    on=_CPU,
)

BLOCKS: Final = stricter(
    "CPU-DFLASH",
    "On the CPU engine dflash runs since 0.25.",
    "v1/attention/backends/cpu_attn.py supports_non_causal",
    since="0.20",
    until="0.24",
    on=_CPU,
)

RULES: Final = (SLEEP, CACHE, RAY, SPECULATION, LATENT, PINNED, RECURRENT, SYNTHETIC, BLOCKS)

_LATENT_TYPES: Final = ("deepseek_v2", "deepseek_v3", "deepseek_v32", "kimi_k2", "glm4_moe_lite", "longcat_flash")


def check(settled: Settled) -> Iterator[Finding]:
    """Flag by flag; the rules hold for the CPU engine only."""
    if settled.case.build.flavor is not Flavor.VLLM_CPU:
        return
    case = settled.case
    if settled.speculates:
        yield from _speculating(settled)
    if flags.switched(case, "enable_sleep_mode"):
        yield SLEEP.broken("args.enable_sleep_mode", True, "remove it")
    dtype = case.args.get("kv_cache_dtype")
    chunked, cached = (case.args.get(name) is not False for name in ("enable_chunked_prefill", "enable_prefix_caching"))
    if isinstance(dtype, str) and _quantized(dtype, settled) and (chunked or cached):
        yield CACHE.broken("args.kv_cache_dtype", dtype, "remove it")
    over_ray = case.args.get("distributed_executor_backend") == "ray"
    if over_ray and case.packages is not None and "ray" not in case.packages:
        yield RAY.broken("args.distributed_executor_backend", "ray", "use mp")
    target = settled.target
    if target is not None and target.model_type in _LATENT_TYPES and target.text.get("kv_lora_rank"):
        yield LATENT.broken("target.model_type", target.model_type, "use 0.26 or later")


def _speculating(settled: Settled) -> Iterator[Finding]:
    """What starts, and stops later."""
    yield SPECULATION.broken("speculative_config", None, "use 0.20 or later")
    connector = flags.part(settled.case, "kv_transfer_config", "kv_connector")
    if settled.method == "dflash":
        yield BLOCKS.broken("speculative_config.method", "dflash", "use 0.25 or later")
    if settled.method == "ngram_gpu":
        yield PINNED.broken("speculative_config.method", "ngram_gpu", "use ngram")
    corrected = "specdec_runtime" in (settled.case.packages or ())
    if settled.method == "extract_hidden_states" and connector == "ExampleHiddenStatesConnector" and not corrected:
        yield PINNED.broken("args.kv_transfer_config", connector, "use another connector, or this release's image")
    target = settled.target.architectures if settled.target is not None else ()
    if settled.method == "mtp" and any(known("architectures", "recurrent", each, settled.version) for each in target):
        yield RECURRENT.broken("speculative_config.method", "mtp", "use ngram")
    if settled.value("rejection_sample_method") == "synthetic":
        field = "speculative_config.rejection_sample_method"
        yield SYNTHETIC.broken(field, "synthetic", "remove it, or measure on an accelerator")


def _quantized(dtype: str, settled: Settled) -> bool:
    """Whether it is a quantised cache; 0.11 takes all but `auto` for one, but DeepSeek V3.2's bfloat16."""
    target = settled.target.model_type if settled.target is not None else ""
    plain = dtype == "auto" or (dtype == "bfloat16" and target == "deepseek_v32")
    return dtype.startswith("fp8") or (not plain and not settled.at_least("0.12"))
