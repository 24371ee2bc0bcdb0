"""The model runner: what only one of the two can do."""

from collections.abc import Iterator
from typing import Final

from specdec_engine.model_config import ModelConfig
from specdec_engine.model_runner import VARIABLE, Runner, forced, lacking, runner
from specdec_engine.resolve import Resolved
from specdec_engine.rule import Finding, at_key, broken
from specdec_engine.version import Flavor

_CANDIDATES: Final = frozenset(("DFlash2DraftModel", "LiLiCorrDraftModel"))
XPRESS: Final = frozenset(("DFlashQwen3XPressModel", "Qwen3XPressModel"))
"""Drafts of dflash with a refiner behind them."""
_PARSE: Final = frozenset(("ParseAuxMTPModel",))
_STEP5: Final = frozenset(("Step5ForCausalLM", "Step5ForConditionalGeneration"))
_NO_FULL_GRAPHS: Final = frozenset(("NONE", "PIECEWISE"))


def check(resolved: Resolved) -> Iterator[Finding]:
    """What the chosen runner refuses."""
    if forced(resolved) is Runner.V2:
        yield from _forced(resolved)
    elif resolved.speculates:
        yield from _older(resolved)
    if resolved.value("enable_adaptive_verification", False):
        yield from _adaptive(resolved)


def _forced(resolved: Resolved) -> Iterator[Finding]:
    value = resolved.case.env[VARIABLE]
    yield broken("V2-TRITON", f"env.{VARIABLE}", value, "remove the variable on the CPU engine")
    if missing := [*lacking(resolved), *_plain_lacks(resolved)]:
        yield broken(
            "V2-LACKS",
            f"env.{VARIABLE}",
            value,
            f"{resolved.case.build} does not support {', '.join(missing)} with Model Runner V2",
        )


def _plain_lacks(resolved: Resolved) -> list[str]:
    """What Model Runner V2 lacked up to 0.28, speculation or not."""
    wanted = {
        "enable_dbo": "dual batch overlap",
        "kv_sharing_fast_prefill": "fast prefill",
        "logits_processors": "custom logits processors",
        "ec_transfer_config": "encoder cache transfer",
    }
    return [] if resolved.at_least("0.29") else [text for name, text in wanted.items() if resolved.case.args.get(name)]


def _older(resolved: Resolved) -> Iterator[Finding]:
    """Things for Model Runner V2 that end up on the older one."""
    on_cpu = resolved.case.build.flavor is Flavor.VLLM_CPU
    if resolved.method == "dspark" and (on_cpu or forced(resolved) is Runner.V1):
        where = "the CPU engine has no Triton" if on_cpu else f"{VARIABLE} is 0"
        yield at_key("DSPARK-RUNNER", "method", "dspark", f"dspark needs Model Runner V2, and {where}")
    if runner(resolved) is not Runner.V1:
        return
    if resolved.value("enable_adaptive_verification", False):
        message = "remove it, because this configuration runs on the older runner"
        yield at_key("ADAPTIVE-RUNNER", "enable_adaptive_verification", True, message)
    if (value := resolved.value("draft_lm_head_quantization")) is not None:
        yield at_key(
            "LMHEAD-RUNNER",
            "draft_lm_head_quantization",
            value,
            "remove it, because this configuration runs on the older runner",
        )
    yield from _newer_models(resolved)
    if resolved.method == "dflash" and resolved.draft is not None:
        yield from _dflash(resolved.draft)


def _dflash(draft: ModelConfig) -> Iterator[Finding]:
    """Drafts of dflash that only the newer runner runs."""
    layers = draft.config.get("layer_types") or []
    sliding = sum(each == "sliding_attention" for each in layers) if isinstance(layers, list) else 0
    if 0 < sliding < len(layers):
        yield broken(
            "DFLASH-MIXED",
            "draft.layer_types",
            layers,
            f"{sliding} of {len(layers)} layers use sliding attention; use another draft",
        )
    if _CANDIDATES & set(draft.architectures):
        yield broken(
            "DFLASH-CANDIDATES",
            "draft.architectures",
            list(draft.architectures),
            "use a dflash draft without a candidate head",
        )


def _newer_models(resolved: Resolved) -> Iterator[Finding]:
    """Targets and drafts that the older runner cannot run."""
    drafts = set(resolved.draft.architectures) if resolved.draft is not None else set()
    if resolved.method == "dflash" and drafts & XPRESS:
        yield broken("XPRESS-RUNNER", "draft.architectures", sorted(drafts & XPRESS), "do not disable Model Runner V2")
    if drafts & _PARSE:
        yield broken("PARSE-RUNNER", "draft.architectures", sorted(drafts & _PARSE), "do not disable Model Runner V2")
    targets = set(resolved.target.architectures) if resolved.target is not None else set()
    if targets & _STEP5:
        yield broken("STEP5-RUNNER", "target.architectures", sorted(targets & _STEP5), "use another method")


def _adaptive(resolved: Resolved) -> Iterator[Finding]:
    field, case = "speculative_config.enable_adaptive_verification", resolved.case
    if case.switched("enable_lora"):
        yield broken("ADAPTIVE-LORA", field, True, "remove it, or LoRA")
    if case.size("pipeline_parallel_size") > 1:
        yield broken("ADAPTIVE-PP", field, True, "remove it, or pipeline parallelism")
    mode = case.part("compilation_config", "cudagraph_mode")
    if case.switched("enforce_eager") or (isinstance(mode, str) and mode.upper() in _NO_FULL_GRAPHS):
        yield broken("ADAPTIVE-GRAPHS", field, True, "use FULL, FULL_DECODE_ONLY or FULL_AND_PIECEWISE graphs")
    if resolved.value("use_local_argmax_reduction", False) and resolved.method not in ("dspark", None):
        yield broken("ADAPTIVE-ARGMAX", field, True, "remove use_local_argmax_reduction")
    if resolved.method not in ("dspark", None):
        yield broken("ADAPTIVE-METHOD", field, True, f"remove it with {resolved.method}")
