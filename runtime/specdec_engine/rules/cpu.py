"""What the CPU engine cannot do."""

from collections.abc import Iterator
from typing import Final

from specdec_engine.resolve import Resolved
from specdec_engine.rule import Finding, at_flag, at_key, broken
from specdec_engine.version import Flavor

_LATENT_TYPES: Final = ("deepseek_v2", "deepseek_v3", "deepseek_v32", "kimi_k2", "glm4_moe_lite", "longcat_flash")


def check(resolved: Resolved) -> Iterator[Finding]:
    """Flag by flag; the rules hold for the CPU engine only."""
    if resolved.case.build.flavor is not Flavor.VLLM_CPU:
        return
    case = resolved.case
    if resolved.speculates:
        yield from _speculating(resolved)
    if case.switched("enable_sleep_mode"):
        yield at_flag("CPU-SLEEP", "enable_sleep_mode", True, "remove it")
    dtype = case.args.get("kv_cache_dtype")
    chunked, cached = (case.args.get(name) is not False for name in ("enable_chunked_prefill", "enable_prefix_caching"))
    if isinstance(dtype, str) and _quantized(dtype, resolved) and (chunked or cached):
        yield at_flag("CPU-FP8-CACHE", "kv_cache_dtype", dtype, "remove it")
    over_ray = case.args.get("distributed_executor_backend") == "ray"
    if over_ray and case.packages is not None and "ray" not in case.packages:
        yield at_flag("RAY-MISSING", "distributed_executor_backend", "ray", "use mp")
    target = resolved.target
    if target is not None and target.model_type in _LATENT_TYPES and target.text.get("kv_lora_rank"):
        yield broken("CPU-MLA", "target.model_type", target.model_type, "use 0.26 or later")


def _speculating(resolved: Resolved) -> Iterator[Finding]:
    """What starts, and stops later."""
    yield broken("CPU-SPECULATION", "speculative_config", None, "use 0.20 or later")
    connector = resolved.case.part("kv_transfer_config", "kv_connector")
    if resolved.method == "dflash":
        yield at_key("CPU-DFLASH", "method", "dflash", "use 0.25 or later")
    if resolved.method == "ngram_gpu":
        yield at_key("CPU-PINNED", "method", "ngram_gpu", "use ngram")
    corrected = "specdec_runtime" in (resolved.case.packages or ())
    if resolved.method == "extract_hidden_states" and connector == "ExampleHiddenStatesConnector" and not corrected:
        yield at_flag("CPU-PINNED", "kv_transfer_config", connector, "use another connector, or this release's image")
    if resolved.method == "mtp" and resolved.target_is("recurrent"):
        yield at_key("CPU-MTP-RECURRENT", "method", "mtp", "use ngram")
    if resolved.value("rejection_sample_method") == "synthetic":
        yield at_key("CPU-SYNTHETIC", "rejection_sample_method", "synthetic", "remove it, or measure on an accelerator")


def _quantized(dtype: str, resolved: Resolved) -> bool:
    """Whether it is a quantised cache; 0.11 takes all but `auto` for one, but DeepSeek V3.2's bfloat16."""
    target = resolved.target.model_type if resolved.target is not None else ""
    plain = dtype == "auto" or (dtype == "bfloat16" and target == "deepseek_v32")
    return dtype.startswith("fp8") or (not plain and not resolved.at_least("0.12"))
