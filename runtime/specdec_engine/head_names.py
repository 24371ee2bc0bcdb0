"""Which checkpoints are heads of some method, and no language models of their own: by their names alone."""

import re
from typing import Final

from specdec_engine.tables import entries, releases
from specdec_engine.version import Version

_NAME: Final = re.compile(
    r"^(Eagle(?!2_5)|LlamaForCausalLMEagle|P[Ee]agle|DFlash|DSpark|Medusa|MLPSpeculator|LiLiCorr)|Eagle3$|DSparkModel$"
)
"""Architectures that are heads. Eagle2_5_VL is a vision model of that name."""
TYPES: Final = frozenset({"eagle", "medusa", "mlp_speculator"})
"""Model types that are heads."""


def is_head(architecture: str) -> bool:
    """Whether an architecture is that of a head."""
    return _NAME.search(architecture) is not None


def registered_heads(version: Version) -> dict[str, Version]:
    """The heads that a release certainly has, each with the first of the releases that were read to have it."""
    names = filter(is_head, entries("architectures", "registered", version))
    return {name: releases("architectures", "registered", name)[0] for name in names}
