"""The weights' quantisation, of target and draft."""

from collections.abc import Iterator
from typing import Final

from specdec_operator.engine import flags
from specdec_operator.engine.facts import Facts
from specdec_operator.engine.rule import Finding
from specdec_operator.engine.rules.making import refused, shown
from specdec_operator.engine.settled import WITHOUT_DRAFT, Settled
from specdec_operator.engine.tables import entries, known
from specdec_operator.engine.version import Flavor

_MODEL: Final = "config/model.py _verify_quantization"

UNKNOWN: Final = refused("QUANT-UNKNOWN", "The version must have the quantisation method.", _MODEL)
DIFFERS: Final = refused(
    "QUANT-DIFFERS", "A quantisation that is asked for must be the one in the model's config.", _MODEL
)
DEPRECATED: Final = refused(
    "QUANT-DEPRECATED", "Deprecated quantisation methods need --allow-deprecated-quantization.", _MODEL, since="0.15"
)
NPU: Final = refused(
    "ASC-QUANT",
    "vllm-ascend runs quantised checkpoints of its own tool, compressed-tensors (0.12) and fp8 (0.21).",
    "vllm-ascend platform.py supported_quantization",
    on=(Flavor.VLLM_ASCEND,),
)

RULES: Final = (UNKNOWN, DIFFERS, DEPRECATED, NPU)

_FAMILIES: Final = (
    frozenset(("gptq", "gptq_marlin", "auto_gptq", "gptq_bitblas", "moe_wna16", "inc", "auto-round")),
    frozenset(("awq", "awq_marlin", "auto_awq", "cpu_awq", "moe_wna16", "inc", "auto-round")),
)
"""Names under which the engine runs the same checkpoints."""
_CERTAIN: Final = frozenset(("fp8", "gptq", "awq", "bitsandbytes", "compressed-tensors"))
"""Quantisations of checkpoints that the engine takes for nothing else."""
_ON_NPUS: Final = (("", "ascend"), ("0.12", "compressed-tensors"), ("0.21", "fp8"), ("0.21", "deepseek_v4_fp8"))


def check(settled: Settled) -> Iterator[Finding]:
    """The target's flag or config, then the draft's key."""
    asked = settled.case.args.get("quantization")
    if isinstance(asked, str):
        yield from _fits("args.quantization", asked, settled.target, settled)
    elif settled.target is not None and settled.target.quantization in _CERTAIN:
        yield from _runs_on_npu("target.quantization_config", settled.target.quantization, settled)
    wanted = settled.value("quantization")
    opened = settled.opens is not None and settled.word not in WITHOUT_DRAFT and settled.method is not None
    if isinstance(wanted, str) and opened and not (settled.own and not wanted):
        yield from _fits("speculative_config.quantization", wanted, settled.draft, settled)


def _fits(field: str, asked: str, model: Facts | None, settled: Settled) -> Iterator[Finding]:
    name = asked.lower()
    if settled.case.build.flavor is Flavor.VLLM_ASCEND:
        yield from _runs_on_npu(field, name, settled)
    elif known("values", "quantization", name, settled.version) is False:
        allowed = ", ".join(entries("values", "quantization", settled.version))
        yield UNKNOWN.broken(field, asked, f"{settled.case.build} has no quantisation {shown(asked)}; it has {allowed}")
        return
    allowed_old = flags.switched(settled.case, "allow_deprecated_quantization")
    if known("values", "deprecated_quantization", name, settled.version) and not allowed_old:
        yield DEPRECATED.broken(field, asked, f"{asked} is deprecated in {settled.case.build}")
    inside = model.quantization if model is not None else ""
    if inside in _CERTAIN and name not in (inside, "humming") and not _same(name, inside):
        yield DIFFERS.broken(field, asked, f"the model's config says {inside}, not {asked}; leave it out")


def _runs_on_npu(field: str, name: str, settled: Settled) -> Iterator[Finding]:
    """The plug-in has a list of its own, with methods that vLLM does not know."""
    has = [each for since, each in _ON_NPUS if not since or settled.at_least(since)]
    if name not in has:
        yield NPU.broken(field, name, f"{settled.case.build} has {', '.join(has)}; use a checkpoint of one of them")


def _same(asked: str, inside: str) -> bool:
    return any({asked, inside} <= family for family in _FAMILIES) or asked.startswith("modelopt")
