"""What kind of model a folder holds: a language model, or a head of some method. Pure tables and tests of names."""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from specdec_engine.versions import MajorMinor
    from specdec_runtime.preflight.artifact import Artifact

_HEAD_NAME: Final = re.compile(
    r"^(Eagle(?!2_5)|LlamaForCausalLMEagle|P[Ee]agle|DFlash|DSpark|Medusa|MLPSpeculator|LiLiCorr)|Eagle3$|DSparkModel$"
)
"""Architectures that are heads. Eagle2_5_VL is a vision model of that name."""
_HEAD_TYPES: Final = frozenset({"eagle", "medusa", "mlp_speculator"})
_HEAD_TENSORS: Final = re.compile(
    r"(^|\.)(fc|eagle_linear|midlayer|d2t|t2d|mask_hidden|medusa_heads|blocks|markov_head|enorm|eh_proj|mtp\w*)(\.|$)"
    r"|^\d+\.\d+\.linear\."
)
PLAIN_TYPES: Final = frozenset(
    (
        *("cohere", "cohere2", "falcon", "gemma", "gemma2", "gemma3", "gemma3_text", "gpt2", "gpt_neox", "gpt_oss"),
        *("granite", "llama", "mistral", "mixtral", "opt", "phi", "phi3", "qwen2", "qwen2_moe", "qwen3", "qwen3_moe"),
        "starcoder2",
    )
)
"""Model types of language models that were never published with MTP layers; MiMo is told by its architecture."""

_ELEVEN: Final = (
    "EagleLlamaForCausalLM EagleLlama4ForCausalLM EagleMiniCPMForCausalLM EagleDeepSeekMTPModel "
    "Eagle3LlamaForCausalLM LlamaForCausalLMEagle3"
)
_SINCE: Final = (
    ((0, 11), _ELEVEN),
    ((0, 14), "Eagle3Qwen2_5vlForCausalLM Eagle3Qwen3vlForCausalLM EagleMistralLarge3ForCausalLM"),
    ((0, 18), "Eagle3DeepseekV2ForCausalLM Eagle3DeepseekV3ForCausalLM"),
    ((0, 20), "DFlashDraftModel Eagle3MiniMaxM2ForCausalLM"),
    ((0, 22), "EagleCohereForCausalLM EagleMistralForCausalLM PEagleDraftModel PeagleLlamaForCausalLM"),
    ((0, 25), "DFlashLagunaForCausalLM Eagle3Qwen3ForCausalLM PeagleQwen3ForCausalLM"),
    ((0, 28), "DFlash2DraftModel DFlashMuseGlimmerAssistantModel"),
    ((0, 32), "LiLiCorrDraftModel"),
    ((0, 33), "DFlash2BeamDraftModel DFlashQwen3XPressModel"),
)
REGISTERED: Final[Mapping[str, MajorMinor]] = MappingProxyType(
    {name: since for since, names in _SINCE for name in names.split()}
)
"""Heads that vLLM registers, and the oldest inspected release that does."""
SPECULATORS: Final[Mapping[str, MajorMinor]] = MappingProxyType(
    {"eagle3": (0, 11), "dflash": (0, 20), "peagle": (0, 22), "dspark": (0, 25), "dflash2": (0, 29)}
)
"""Values of speculators_model_type that vLLM reads."""


def is_head(artifact: Artifact) -> bool:
    """Whether a folder certainly holds a head, which is no language model of its own."""
    config, tensors = artifact.settings, artifact.tensors or {}
    named = any(_HEAD_NAME.search(each) for each in config.architectures)
    marked = "fc.weight" in tensors or "eagle_linear.weight" in tensors
    return named or marked or config.model_type in _HEAD_TYPES or "speculators_model_type" in config.document


def is_language_model(artifact: Artifact) -> bool:
    """Whether a folder certainly holds a whole language model and nothing of a head."""
    names = (artifact.tensors or {}).keys()
    whole = {"model.embed_tokens.weight", "model.norm.weight", "model.layers.0.input_layernorm.weight"} <= names
    plain = all(each.endswith("ForCausalLM") for each in artifact.settings.architectures)
    return whole and plain and not is_head(artifact) and not any(_HEAD_TENSORS.search(name) for name in names)
