"""Which family a name or a config.json means, and what a draft is by its config.json."""

from collections.abc import Mapping
from typing import Any

import pytest

from specdec_command.advice.catalogue import METHODS
from specdec_command.advice.families import FAMILIES, family_named, family_of
from specdec_command.advice.request import DraftType, kind_of


@pytest.mark.parametrize(
    ("word", "name"),
    [
        ("llama-3", "llama-3"),
        ("meta-llama/Llama-3.1-8B-Instruct", "llama-3"),
        ("Meta-Llama-3.3-70B", "llama-3"),
        ("Qwen3-8B", "qwen3"),
        ("Qwen/Qwen3.5-27B", "qwen3.5"),
        ("Qwen/Qwen3.6-35B-A3B", "qwen3.5"),
        ("Qwen3-Next-80B-A3B", "qwen3-next"),
        ("Qwen3-Coder-Next-FP8", "qwen3-next"),
        ("Qwen3-Coder-30B-A3B-Instruct", "qwen3"),
        ("Kimi-K2.5", "kimi-k2"),
        ("deepseek-ai/DeepSeek-V3.2-Exp", "deepseek-v3"),
        ("DeepSeek-R1", "deepseek-v3"),
        ("DeepSeek-V4.1", "deepseek-v4.1"),
        ("zai-org/GLM-4.7-FP8", "glm-4.5"),
        ("gpt_oss", "gpt-oss"),
        ("MiMo-7B-RL", "mimo"),
    ],
)
def test_names_lead_to_families(word: str, name: str) -> None:
    """The longest matching name wins: Qwen3-Next is not a Qwen3 model."""
    found = family_named(word)
    assert found is not None
    assert found.name == name


@pytest.mark.parametrize(
    "word",
    [
        *("", "claude", "GLM-4-9B", "llama", "Qwen/Qwen3.7-32B", "Qwen3.8", "Llama-3.9-8B", "GLM-5.1", "DeepSeek-V4.2"),
        *("Qwen/Qwen3-VL-8B-Instruct", "Qwen3-Omni-30B-A3B", "DeepSeek-R1-Distill-Llama-8B", "Kimi-K2.9"),
    ],
)
def test_other_names_lead_nowhere(word: str) -> None:
    """Nothing is guessed about a model that is not known: a later version or a variant may differ."""
    assert family_named(word) is None


@pytest.mark.parametrize(
    ("config", "name"),
    [
        ({"model_type": "llama"}, "llama-3"),
        ({"model_type": "qwen2", "architectures": ["MiMoForCausalLM"]}, "mimo"),
        ({"model_type": "qwen2", "architectures": ["Qwen2ForCausalLM"]}, "qwen2.5"),
        ({"model_type": "deepseek_v32"}, "deepseek-v3"),
        ({"model_type": "nobody"}, None),
        ({"model_type": ["llama"], "architectures": [{}, 3]}, None),
        ({}, None),
    ],
)
def test_configs_lead_to_families(config: Mapping[str, Any], name: str | None) -> None:
    """By architecture first: MiMo calls itself a Qwen2."""
    found = family_of(config)
    assert (found.name if found else None) == name


def test_families_are_distinct() -> None:
    """No name or model type belongs to two families, and their drafts run by known methods."""
    names = [name for each in FAMILIES for name in (each.name, *each.also)]
    types = [one for each in FAMILIES for one in each.model_types]
    assert len(names) == len(set(names))
    assert len(types) == len(set(types))
    methods = {one for each in FAMILIES for one in (*each.trained, *(known.method for known in each.known))}
    assert methods <= set(METHODS)


@pytest.mark.parametrize(
    ("config", "kind"),
    [
        ({"model_type": "llama", "architectures": ["LlamaForCausalLM"]}, DraftType.DRAFT_MODEL),
        ({"model_type": "llama", "architectures": ["LlamaForCausalLM"], "pard_token": 2}, DraftType.PARD),
        ({"model_type": "llama", "architectures": ["LlamaForCausalLMEagle3"]}, DraftType.EAGLE3),
        ({"model_type": "llama", "architectures": ["LlamaForCausalLMEagle3"], "ptd_token_id": 5}, DraftType.P_EAGLE),
        ({"speculators_model_type": "eagle3", "architectures": ["Eagle3Speculator"]}, DraftType.EAGLE3),
        ({"speculators_model_type": "peagle"}, DraftType.P_EAGLE),
        ({"architectures": ["EagleLlamaForCausalLM"]}, DraftType.EAGLE),
        ({"model_type": "qwen3", "architectures": ["DFlashDraftModel"]}, DraftType.DFLASH),
        ({"architectures": ["Qwen3DSparkModel"]}, DraftType.DSPARK),
        ({"model_type": "medusa"}, DraftType.MEDUSA),
        ({"model_type": "gemma4_assistant"}, DraftType.MTP),
        ({"model_type": None, "architectures": "x"}, DraftType.DRAFT_MODEL),
    ],
)
def test_configs_show_the_kind_of_a_draft(config: Mapping[str, Any], kind: DraftType) -> None:
    """So the user does not have to name the kind as well."""
    assert kind_of(config) is kind


@pytest.mark.parametrize("kind", DraftType)
def test_every_kind_of_draft_has_a_method(kind: DraftType) -> None:
    """Two kinds need parallelDrafting; the rest carry their method's name."""
    assert kind.method in METHODS
    assert kind.parallel == (kind.method != kind.value)
