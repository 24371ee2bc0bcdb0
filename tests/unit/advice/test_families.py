"""Which family a name or a config.json means, and what a draft is by its config.json."""

from collections.abc import Mapping
from typing import Any

import pytest

from specdec_command.advice.catalogue import METHODS
from specdec_command.advice.families import FAMILIES, family_named, family_of
from specdec_command.advice.published import PUBLISHED, model_name, published
from specdec_command.advice.request import DraftType, kind_of
from specdec_engine.tables import table


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
        ("MiMo-V2.5-Pro", "mimo"),
        ("Qwen/Qwen3.6-27B-FP8", "qwen3.5"),
        ("Qwen/Qwen3.8-27B", "qwen3.5"),
        ("Qwen/Qwen3.8-2.4T-A95B-FP8", "qwen3.5"),
        ("Qwen/Qwen3.8-Flash-Next", "qwen3.8-flash-next"),
        ("qwen3_5", "qwen3.5"),
        ("qwen3_5_moe", "qwen3.5"),
        ("qwen4_exp", "qwen3.8-flash-next"),
        ("glm_moe_dsa", "glm-5"),
        ("GLM-5.2-FP8", "glm-5"),
        ("meta-llama/Llama-4-Scout-17B-16E-Instruct", "llama-4"),
        ("nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", "nemotron-h"),
        ("nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-BF16", "nemotron-3"),
        ("Kimi-K2.6", "kimi-k2"),
        ("Qwen/Qwen3-VL-8B-Instruct", "qwen3-vl"),
        ("MiniMax-M2.7", "minimax-m2"),
        ("LongCat-Flash-Chat", "longcat-flash"),
        ("LGAI-EXAONE/K-EXAONE-236B-A23B", "exaone-moe"),
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
        *("", "claude", "GLM-4-9B", "llama", "Qwen/Qwen3.7-32B", "Qwen3.8", "Llama-3.9-8B", "GLM-5.3", "DeepSeek-V4.2"),
        *(
            "Qwen3.8-Max",
            "Llama-4.1-8B",
            "GLM-4.5V",
            "ERNIE-4.5-0.3B",
            "ERNIE-4.5-VL-28B",
            "Nemotron-3.6",
            "MiniMax-M2.9",
        ),
        *("nvidia/Llama-3_3-Nemotron-Super-49B-v1", "LongCat-Flash-Omni", "Qwen3-VL-Embedding-2B", "Ling-2.6-flash"),
        *("Qwen3-Omni-30B-A3B", "DeepSeek-R1-Distill-Llama-8B", "Kimi-K2.9"),
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
        ({"model_type": "qwen3_5", "text_config": {"mtp_num_hidden_layers": 1}}, "qwen3.5"),
        ({"model_type": "kimi_k25", "text_config": {"model_type": "deepseek_v3"}}, "kimi-k2"),
        ({"model_type": "minimax_m3_vl"}, "minimax-m3"),
        ({"model_type": "glm5_next"}, None),
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
    assert {one for each in FAMILIES for one in each.trained} <= set(METHODS)


def test_heads_are_those_of_the_engines_table() -> None:
    """A family whose config.json names MTP heads has a row in the table of the engine, or another method."""
    rows = table("mtp")["families"]
    known = {one for row in rows for one in (*row.get("model_types", ()), *row.get("architectures", ()))}
    named = [each for each in FAMILIES if each.mtp_heads and each.model_types]
    assert [each.name for each in named if not known & {*each.model_types, *each.architectures}] == []


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


@pytest.mark.parametrize(
    ("repository", "name"),
    [
        ("Qwen/Qwen3.6-27B-FP8", "qwen3.6-27b"),
        ("RedHatAI/Qwen3-8B-FP8-dynamic", "qwen3-8b"),
        ("nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-BF16", "nvidia-nemotron-3-super-120b-a12b"),
        ("Qwen/Qwen3-8B-Base", "qwen3-8b-base"),
        ("acme/model-int4-awq", "model"),
    ],
)
def test_a_quantised_copy_has_the_name_of_its_model(repository: str, name: str) -> None:
    """A draft for the one drafts for the other. A base model is another model."""
    assert model_name(repository) == name


def test_every_published_use_has_a_family_a_method_and_a_source() -> None:
    """And drafts are repositories of their own."""
    for each in PUBLISHED:
        assert each.method in METHODS
        assert family_named(each.target) is not None, each.target
        assert each.source
        assert (each.draft.count("/") == 1) if each.draft else each.method == "mtp"
        assert each.tokens is None or 1 <= each.tokens <= 15
    assert len({(each.target, each.method, each.draft) for each in PUBLISHED}) == len(PUBLISHED)


def test_only_the_exact_target_has_published_drafts() -> None:
    """Heads of one size do not fit another."""
    assert {each.draft for each in published("Qwen/Qwen3-8B-FP8", "eagle3")} >= {"RedHatAI/Qwen3-8B-speculator.eagle3"}
    assert published("Qwen/Qwen3-4B", "eagle3") == ()
    assert published("", "eagle3") == ()
