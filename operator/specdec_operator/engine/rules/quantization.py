"""The weights' quantisation, of target and draft."""

from collections.abc import Iterator
from typing import Final

from specdec_operator.engine import flags
from specdec_operator.engine.facts import Facts
from specdec_operator.engine.rule import Finding
from specdec_operator.engine.rules.making import refused, shown
from specdec_operator.engine.settled import WITHOUT_DRAFT, Settled
from specdec_operator.engine.tables import entries, known

_MODEL: Final = "config/model.py _verify_quantization"

UNKNOWN: Final = refused("QUANT-UNKNOWN", "The version must have the quantisation method.", _MODEL)
DIFFERS: Final = refused(
    "QUANT-DIFFERS", "A quantisation that is asked for must be the one in the model's config.", _MODEL
)
DEPRECATED: Final = refused(
    "QUANT-DEPRECATED", "Deprecated quantisation methods need --allow-deprecated-quantization.", _MODEL, since="0.15"
)

RULES: Final = (UNKNOWN, DIFFERS, DEPRECATED)

_FAMILIES: Final = (
    frozenset(("gptq", "gptq_marlin", "auto_gptq", "gptq_bitblas", "moe_wna16", "inc", "auto-round")),
    frozenset(("awq", "awq_marlin", "auto_awq", "cpu_awq", "moe_wna16", "inc", "auto-round")),
)
"""Names under which the engine runs the same checkpoints."""
_CERTAIN: Final = frozenset(("fp8", "gptq", "awq", "bitsandbytes", "compressed-tensors"))
"""Quantisations of checkpoints that the engine takes for nothing else."""


def check(settled: Settled) -> Iterator[Finding]:
    """The target's flag, then the draft's key."""
    asked = settled.case.args.get("quantization")
    if isinstance(asked, str):
        yield from _fits("args.quantization", asked, settled.target, settled)
    wanted = settled.value("quantization")
    opened = settled.opens is not None and settled.word not in WITHOUT_DRAFT and settled.method is not None
    if isinstance(wanted, str) and opened and not (settled.own and not wanted):
        yield from _fits("speculative_config.quantization", wanted, settled.draft, settled)


def _fits(field: str, asked: str, model: Facts | None, settled: Settled) -> Iterator[Finding]:
    name = asked.lower()
    if known("values", "quantization", name, settled.version) is False:
        allowed = ", ".join(entries("values", "quantization", settled.version))
        yield UNKNOWN.broken(field, asked, f"{settled.case.build} has no quantisation {shown(asked)}; it has {allowed}")
        return
    allowed_old = flags.switched(settled.case, "allow_deprecated_quantization")
    if known("values", "deprecated_quantization", name, settled.version) and not allowed_old:
        yield DEPRECATED.broken(field, asked, f"{asked} is deprecated in {settled.case.build}")
    inside = model.quantization if model is not None else ""
    if inside in _CERTAIN and name not in (inside, "humming") and not _same(name, inside):
        yield DIFFERS.broken(field, asked, f"the model's config says {inside}, not {asked}; leave it out")


def _same(asked: str, inside: str) -> bool:
    return any({asked, inside} <= family for family in _FAMILIES) or asked.startswith("modelopt")
