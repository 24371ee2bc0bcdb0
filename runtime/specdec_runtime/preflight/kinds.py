"""What kind of model a folder holds: a language model, or a head of some method. Pure tables and tests of names."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from specdec_engine import head_names

if TYPE_CHECKING:
    from specdec_runtime.preflight.artifact import ModelFolder

_HEAD_TENSORS: Final = re.compile(
    r"(^|\.)(fc|eagle_linear|midlayer|d2t|t2d|mask_hidden|medusa_heads|blocks|markov_head|enorm|eh_proj|mtp\w*)(\.|$)"
    r"|^\d+\.\d+\.linear\."
)


def is_head(artifact: ModelFolder) -> bool:
    """Whether a folder certainly holds a head. A head is not a language model of its own."""
    config, tensors = artifact.settings, artifact.tensors or {}
    named = any(map(head_names.is_head, config.architectures))
    marked = "fc.weight" in tensors or "eagle_linear.weight" in tensors
    return named or marked or config.model_type in head_names.TYPES or "speculators_model_type" in config.document


def is_language_model(artifact: ModelFolder) -> bool:
    """Whether a folder certainly holds a whole language model and nothing of a head."""
    names = (artifact.tensors or {}).keys()
    whole = {"model.embed_tokens.weight", "model.norm.weight", "model.layers.0.input_layernorm.weight"} <= names
    plain = all(each.endswith("ForCausalLM") for each in artifact.settings.architectures)
    return whole and plain and not is_head(artifact) and not any(_HEAD_TENSORS.search(name) for name in names)
