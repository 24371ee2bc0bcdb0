"""The engine's flags for LoRA adapters."""

from collections.abc import Iterator
from typing import Any, Final

from specdec_engine.case import Json
from specdec_engine.flags import option
from specdec_operator.errors import Invalid

_RANKS: Final = (16, 32, 64, 128, 256, 320, 512)
"""Of --max-lora-rank, from its default on: vllm/config/lora.py."""


def adapter_flags(model: Json, written: Json) -> Iterator[tuple[str, Any]]:
    """What LoRA adapters need of the engine; of their number and rank the user's own flags win. Raises Invalid for
    modules beside them.
    """
    adapters = model.get("adapters")
    if not adapters:
        return
    if "lora_modules" in written:
        rule = "the operator renders this flag from spec.model.adapters; list all adapters there"
        raise Invalid("spec.engine.args", option("lora_modules"), rule)
    yield "enable_lora", True
    if len(adapters) > 1 and "max_loras" not in written:
        yield "max_loras", len(adapters)
    largest = max(each.get("rank") or 0 for each in adapters)
    if largest > _RANKS[0] and "max_lora_rank" not in written:
        yield "max_lora_rank", next(each for each in _RANKS if each >= largest)
