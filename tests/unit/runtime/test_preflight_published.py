"""specdec_runtime preflight: configs and tensors as they are published, none of which may be refused."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.unit.runtime import models
from tests.unit.runtime.scenes import read

from specdec_engine.accelerators import Accelerator
from specdec_engine.head_names import is_head
from specdec_engine.methods import head_name
from specdec_engine.rule import Severity
from specdec_runtime import preflight
from specdec_runtime.preflight.surroundings import Surroundings

GPU = Surroundings(engine=(0, 32), accelerator=Accelerator.NVIDIA, packages=frozenset({"numba", "arctic_inference"}))
SMALL = {
    "vocab_size": 64,
    "hidden_size": 16,
    "intermediate_size": 24,
    "num_hidden_layers": 8,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 1024,
}


def decoder(name: str, model_type: str, **more: object) -> models.Json:
    return SMALL | {"architectures": [name], "model_type": model_type} | more


def without(shapes: models.Shapes, ending: str) -> models.Shapes:
    return {name: shape for name, shape in shapes.items() if not name.endswith(ending)}


LLAMA = decoder("LlamaForCausalLM", "llama", torch_dtype="bfloat16", rope_scaling={"rope_type": "llama3"})
TIED = decoder("LlamaForCausalLM", "llama", tie_word_embeddings=True, head_dim=8)
QWEN2 = decoder("Qwen2ForCausalLM", "qwen2", tie_word_embeddings=False, use_sliding_window=False)
QWEN3 = decoder("Qwen3ForCausalLM", "qwen3", head_dim=8, attention_bias=False, tie_word_embeddings=True)
QWEN3_PLAIN = decoder("Qwen3ForCausalLM", "qwen3", tie_word_embeddings=True)
GEMMA = decoder("Gemma2ForCausalLM", "gemma2", head_dim=8)
MISTRAL = decoder("MistralForCausalLM", "mistral", head_dim=None, sliding_window=None)
DEEPSEEK = decoder("DeepseekV3ForCausalLM", "deepseek_v3", num_nextn_predict_layers=1, kv_lora_rank=8, q_lora_rank=8)
QWEN35 = {
    "architectures": ["Qwen3_5ForConditionalGeneration"],
    "model_type": "qwen3_5",
    "hidden_size": 4,
    "text_config": SMALL | {"mtp_num_hidden_layers": 1, "model_type": "qwen3_5_text"},
    "vision_config": {"hidden_size": 4},
}
GEMMA3 = {
    "architectures": ["Gemma3ForConditionalGeneration"],
    "model_type": "gemma3",
    "text_config": SMALL | {"model_type": "gemma3_text", "vocab_size": 64},
    "vision_config": {"hidden_size": 9},
}
MIMO = decoder("MiMoForCausalLM", "mimo", num_nextn_predict_layers=1)
BIASES: models.Shapes = {f"model.layers.0.self_attn.{part}_proj.bias": (16 if part == "q" else 8,) for part in "qkv"}
NORMS: models.Shapes = {f"model.layers.{at}.self_attn.{part}_norm.weight": (8,) for at in range(8) for part in "qk"}
PACKED: models.Shapes = {"model.layers.0.self_attn.q_proj.qweight": (16, 2), "model.embed_tokens.weight": (64, 16)}


@dataclass(frozen=True, kw_only=True, slots=True)
class Published:
    """A model as it is published, with the types of its tensors where they are not bf16."""

    what: str
    config: models.Json
    shapes: models.Shapes
    kind: str = "BF16"


TARGETS = (
    Published(what="Llama", config=LLAMA, shapes=models.decoder(LLAMA)),
    Published(what="Llama, tied", config=TIED, shapes=models.decoder(TIED)),
    Published(what="Llama in f16", config=LLAMA, shapes=models.decoder(LLAMA), kind="F16"),
    Published(what="Llama with old buffers", config=LLAMA,
              shapes=models.decoder(LLAMA) | {"model.layers.0.self_attn.rotary_emb.inv_freq": (2,)}),
    Published(what="Qwen2 with biases", config=QWEN2, shapes=models.decoder(QWEN2) | BIASES),
    Published(what="Qwen3", config=QWEN3, shapes=models.decoder(QWEN3) | NORMS),
    Published(what="Qwen3 without head_dim", config=QWEN3_PLAIN, shapes=models.decoder(QWEN3_PLAIN | {"head_dim": 12})),
    Published(what="Gemma 2, tied by default", config=GEMMA, shapes=without(models.decoder(GEMMA), "lm_head.weight")),
    Published(what="Mistral with head_dim null", config=MISTRAL, shapes=models.decoder(MISTRAL)),
    Published(what="Mistral in its own layout", config=MISTRAL, shapes={"tok_embeddings.weight": (64, 16)}),
    Published(what="Gemma 3 with a tower", config=GEMMA3,
              shapes=models.decoder(SMALL, "language_model.model.")),
    Published(what="AWQ", config=LLAMA | {"quantization_config": {"quant_method": "awq", "bits": 4}}, shapes=PACKED),
    Published(what="GPTQ", config=LLAMA | {"quantization_config": {"quant_method": "gptq"}}, shapes=PACKED),
    Published(what="FP8", config=LLAMA | {"quantization_config": {"quant_method": "fp8", "weight_block_size": [8, 8]}},
              shapes=models.decoder(LLAMA), kind="F8_E4M3"),
    Published(what="compressed-tensors", config=LLAMA | {"quantization_config": {"quant_method": "compressed-tensors"}},
              shapes=PACKED),
    Published(what="DeepSeek V3", config=DEEPSEEK,
              shapes={"model.embed_tokens.weight": (64, 16), "model.layers.8.eh_proj.weight": (16, 32)}),
    Published(what="an architecture of tomorrow", config=decoder("NewForCausalLM", "new"), shapes={"a.weight": (3, 3)}),
)  # fmt: skip


@pytest.mark.parametrize("model", TARGETS, ids=lambda model: model.what)
def test_a_published_target_has_no_finding(model: Published, tmp_path: Path) -> None:
    stored = models.stored(model.shapes, model.kind)
    folder = models.write(tmp_path / "t", config=model.config, vocabulary=models.WORDS, weights=stored)
    assert preflight.inspect(read(folder, None), GPU) == ()
    assert preflight.inspect(read(folder, None, method="ngram"), GPU) == ()


@pytest.mark.parametrize("model", TARGETS, ids=lambda model: model.what)
def test_a_published_model_drafts_for_one_of_its_vocabulary(model: Published, tmp_path: Path) -> None:
    """The checks are as strict for a draft as for a target, except for warnings."""
    stored = models.stored(model.shapes, model.kind)
    folder = models.write(tmp_path / "d", config=model.config, vocabulary=models.WORDS, weights=stored)
    found = preflight.inspect(read(models.llama(tmp_path / "t"), folder), GPU)
    assert [each for each in found if each.rule.severity is Severity.REFUSED] == []


MTP = (
    Published(what="DeepSeek V3", config=DEEPSEEK, shapes={"model.layers.8.eh_proj.weight": (16, 32)}),
    Published(what="MiMo", config=MIMO,
              shapes=models.decoder(MIMO) | {"model.mtp_layers.0.input_proj.weight": (16, 32)}),
    Published(what="MiMo made of a Qwen2", config=MIMO | {"model_type": "qwen2"},
              shapes=models.decoder(MIMO) | BIASES | {"model.mtp_layers.0.input_proj.weight": (16, 32)}),
    Published(what="Qwen3.5", config=QWEN35, shapes={"mtp.fc.weight": (16, 32)}),
    Published(what="GLM 4.5", config=models.MTP, shapes={"model.layers.8.eh_proj.weight": (16, 32)}),
    Published(what="one of tomorrow", config=decoder("NewForCausalLM", "new"), shapes={"mtp.fc.weight": (16, 32)}),
    Published(what="nemotron without the key", config=decoder("NemotronHForCausalLM", "nemotron_h"),
              shapes={"mtp.layers.0.weight": (16, 16)}),
)  # fmt: skip


@pytest.mark.parametrize("model", MTP, ids=lambda model: model.what)
def test_a_published_model_with_mtp_layers_has_no_finding(model: Published, tmp_path: Path) -> None:
    """Each family counts and names them in its own way."""
    stored = models.stored(model.shapes)
    folder = models.write(tmp_path / "t", config=model.config, vocabulary=models.WORDS, weights=stored)
    assert preflight.inspect(read(folder, None, method="mtp", num_speculative_tokens=2), GPU) == ()


SPECULATORS = {
    "architectures": ["Eagle3Speculator"],
    "speculators_model_type": "eagle3",
    "speculators_config": {
        "algorithm": "eagle3",
        "proposal_methods": [{"proposal_type": "greedy", "speculative_tokens": 4}],
        "verifier": {"name_or_path": "meta-llama/Llama-3.1-8B-Instruct", "architectures": ["LlamaForCausalLM"]},
    },
    "transformer_layer_config": SMALL | {"model_type": "llama", "num_hidden_layers": 1},
    "draft_vocab_size": 32,
    "target_hidden_size": None,
    "vocab_size": None,
    "hidden_size": None,
}
PEAGLE = SPECULATORS | {"speculators_model_type": "peagle", "mask_token_id": 3}
HEADS: tuple[tuple[str, models.Json, models.Shapes, dict[str, Any]], ...] = (
    ("eagle", models.EAGLE, models.EAGLE_SHAPES, {}),
    ("eagle", models.EAGLE | {"architectures": ["EagleLlamaForCausalLM"]},
     models.EAGLE_SHAPES | {"embed_tokens.weight": (64, 16), "fc.bias": (16,)}, {}),
    ("eagle", {"model_type": "eagle", "model": models.EAGLE, "vocab_size": None, "hidden_size": None},
     models.EAGLE_SHAPES | {"lm_head.weight": (64, 16)}, {}),
    ("eagle3", models.EAGLE3, models.EAGLE3_SHAPES, {}),
    ("eagle3", models.EAGLE3 | {"eagle_config": {"eagle_aux_hidden_state_layer_ids": [1, 4, 8]}},
     models.EAGLE3_SHAPES, {}),
    ("eagle3", models.EAGLE3 | {"draft_vocab_size": None},
     models.EAGLE3_SHAPES | {"lm_head.weight": (64, 16), "d2t": (64,)}, {}),
    ("eagle3", models.EAGLE3 | {"hidden_size": 12, "target_hidden_size": 16},
     models.EAGLE3_SHAPES | {"fc.weight": (12, 48)}, {}),
    ("eagle3", models.EAGLE3 | {"eagle_config": {"use_aux_hidden_state": False}},
     without(models.EAGLE3_SHAPES, "fc.weight"), {}),
    ("eagle3", SPECULATORS, models.EAGLE3_SHAPES, {}),
    ("eagle3", PEAGLE, models.EAGLE3_SHAPES | {"mask_hidden": (1, 48)}, {"parallel_drafting": True}),
    ("dflash", models.DFLASH, models.DFLASH_SHAPES, {}),
    ("medusa", models.MEDUSA, models.MEDUSA_SHAPES, {}),
    ("medusa", {"medusa_num_heads": 5, "medusa_num_layers": 1, "base_model_name_or_path": "x", "vocab_size": None,
                "hidden_size": None},
     {f"{at}.{part}": shape for at in range(5)
      for part, shape in (("0.linear.weight", (16, 16)), ("1.weight", (64, 16)))}, {}),
)  # fmt: skip


@pytest.mark.parametrize("number", range(len(HEADS)))
def test_a_published_head_has_no_finding(number: int, tmp_path: Path) -> None:
    method, config, shapes, options = HEADS[number]
    draft = models.head(tmp_path / "d", config, shapes)
    assert preflight.inspect(read(models.llama(tmp_path / "t"), draft, method=method, **options), GPU) == ()


def test_a_model_in_shards_is_whole_by_its_index(tmp_path: Path) -> None:
    """Also where a file of the original layout lies beside them, which vLLM does not load."""
    shapes = sorted(models.decoder(LLAMA).items())
    folder = models.write(tmp_path / "t", config=LLAMA, vocabulary=models.WORDS)
    (folder / "model.safetensors").unlink()
    names = {}
    for number, part in enumerate((shapes[::2], shapes[1::2])):
        file = f"model-{number}.safetensors"
        (folder / file).write_bytes(models.stored(dict(part)))
        names |= {name: file for name, _ in part}
    (folder / "consolidated.safetensors").write_bytes(b"torn")
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": names}))
    assert preflight.inspect(read(folder, None), GPU) == ()


def test_tokens_without_a_vector_of_their_own_are_not_damage(tmp_path: Path) -> None:
    """Padding at either end of a table is zero in many models, and a pruned head is."""
    wide = models.LLAMA | {"vocab_size": 4096, "hidden_size": 64, "num_hidden_layers": 40, "head_dim": 16}
    folder = models.llama(tmp_path / "d", **wide)
    path = folder / "model.safetensors"
    raw = path.read_bytes()
    base = 8 + int.from_bytes(raw[:8], "little")
    entries = json.loads(raw[8:base])
    found = bytearray(raw)
    for name, entry in entries.items():
        first, last = entry.get("data_offsets", (0, 0))
        if name.endswith(("embed_tokens.weight", "lm_head.weight")):
            found[base + first : base + first + 4096] = bytes(4096)
            found[base + last - 100_000 : base + last] = bytes(100_000)
        elif name.endswith("20.self_attn.q_proj.weight"):
            found[base + first + 2048 : base + first + 6144] = bytes(4096)
    path.write_bytes(found)
    assert preflight.inspect(read(folder, None), GPU) == ()
    assert preflight.inspect(read(folder, folder), GPU) == ()


def test_equal_sealed_vocabularies_need_no_tokenizer_json(tmp_path: Path) -> None:
    """tokenizer.model is not read, but two equal files are one vocabulary."""
    target, draft = models.llama(tmp_path / "t"), models.llama(tmp_path / "d")
    for folder in (target, draft):
        (folder / "tokenizer.json").unlink()
        (folder / "tokenizer.model").write_bytes(b"\x0a\x01")
    assert preflight.inspect(read(target, draft), GPU) == ()
    (draft / "tokenizer.model").write_bytes(b"\x0a\x02")
    assert [each.rule.id for each in preflight.inspect(read(target, draft), GPU)] == ["VocabularyNotCompared"]


@pytest.mark.parametrize(
    ("name", "head"),
    [
        ("Eagle2_5_VLForConditionalGeneration", False),
        ("LlamaForCausalLM", False),
        ("Qwen3DSparkModel", True),
        ("EagleLlamaForCausalLM", True),
        ("LlamaForCausalLMEagle3", True),
        ("PeagleQwen3ForCausalLM", True),
    ],
)
def test_a_head_is_recognized_by_its_name(name: str, *, head: bool) -> None:
    """By the one rule that preflight and the rules about engines have."""
    assert is_head(name) is head


@pytest.mark.parametrize(
    ("engine", "found"),
    [
        ((0, 11), ["DraftArchitectureUnknown"]),
        ((0, 15), ["DraftArchitectureUnknown"]),
        ((0, 18), []),
        ((0, 20), []),
        ((0, 40), []),
    ],
)
def test_a_head_is_unknown_to_releases_that_were_read_without_it(
    tmp_path: Path, engine: tuple[int, int], found: list[str]
) -> None:
    """Between two releases that were read, and after the last one, an unknown name causes no warning."""
    draft = models.head(tmp_path / "d", models.DFLASH, models.DFLASH_SHAPES)
    flags = read(models.llama(tmp_path / "t"), draft, method="dflash")
    said = preflight.inspect(flags, Surroundings(engine=engine))
    assert [each.rule.id for each in said if each.rule.id == "DraftArchitectureUnknown"] == found


@pytest.mark.parametrize(
    ("method", "name", "found"),
    [
        ("eagle", "LlamaForCausalLM", "EagleLlamaForCausalLM"),
        ("eagle", "EagleLlamaForCausalLM", "EagleLlamaForCausalLM"),
        ("eagle3", "LlamaForCausalLM", "Eagle3LlamaForCausalLM"),
        ("eagle3", "LlamaForCausalLMEagle3", "LlamaForCausalLMEagle3"),
        ("dflash", "LagunaForCausalLM", "DFlashLagunaForCausalLM"),
        ("dflash", "LiLiCorrDraftModel", "LiLiCorrDraftModel"),
    ],
)
def test_architectures_are_rewritten_as_vllm_does(method: str, name: str, found: str) -> None:
    """The name that is looked up is what must be registered."""
    assert head_name(method, name) == found
