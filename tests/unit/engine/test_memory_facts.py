"""A model's memory according to its config.json: parameters, weights, cache."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.engine import memory_models as models

from specdec_engine.memory.draft_size import draft_facts
from specdec_engine.memory.model_size import model_facts, quantised_bits
from specdec_engine.shape import count_all, read_shape

BILLION = 10**9
FP8: models.Config = {"quantization_config": {"quant_method": "fp8"}}
WIDE: models.Config = models.EAGLE3_8B | {
    "target_hidden_size": 8192,
    "eagle_config": {"eagle_aux_hidden_state_layer_ids": [2, 77]},
}
MEDUSA: models.Config = models.LLAMA_8B | {"num_heads": 5, "num_hidden_layers": 1}


def parameters(config: models.Config) -> int:
    shape = read_shape(config)
    assert shape is not None
    counted = count_all(shape)
    return counted.linear + counted.experts + counted.embeddings


def test_a_llama_is_counted_to_the_last_parameter() -> None:
    """32 layers of 41 943 040 attention, 176 160 768 feed-forward and 8 192 norms; 2 tables; one norm: 8.03 B."""
    assert parameters(models.LLAMA_8B) == 32 * 218_112_000 + 2 * 128_256 * 4096 + 4096 == 8_030_261_248


@pytest.mark.parametrize(
    ("config", "published"),
    [
        (models.LLAMA_70B, 70.6),
        (models.DEEPSEEK_V3, 671.0),  # 256 experts in 58 layers, latent attention
        (models.QWEN3_30B, 30.5),
        (models.MIXTRAL, 46.7),
        (models.GPT_OSS_20B, 20.9),
    ],
)
def test_the_count_agrees_with_the_published_size(config: models.Config, published: float) -> None:
    """In billions, as the model cards have it, to 0.3 %."""
    assert parameters(config) / BILLION == pytest.approx(published, rel=0.003)


@pytest.mark.parametrize(
    ("config", "per_token"),
    [
        (models.LLAMA_8B, 131_072),  # 2 x 32 layers x 8 heads x 128 x 2 bytes
        (models.LLAMA_70B, 327_680),  # 2 x 80 x 8 x 128 x 2
        (models.DEEPSEEK_V3, 70_272),  # latent: 61 x (512 + 64) x 2
        (models.DEEPSEEK_V3 | {"index_head_dim": 128}, 78_324),  # and 128 + 4 bytes of indexer in each of 61 layers
        ({"num_nextn_predict_layers": 1, "text_config": models.LLAMA_8B}, 131_072),
    ],
)
def test_the_cache_of_a_token(config: models.Config, per_token: int) -> None:
    cache = model_facts(config).cache
    assert cache is not None
    assert cache.per_token == per_token


@pytest.mark.parametrize(
    ("kv_cache_dtype", "per_token"), [("auto", 131_072), ("fp8_e4m3", 65_536), ("float32", 262_144)]
)
def test_the_cache_follows_its_own_type(kv_cache_dtype: str, per_token: int) -> None:
    cache = model_facts(models.LLAMA_8B, kv_cache_dtype=kv_cache_dtype).cache
    assert cache is not None
    assert cache.per_token == per_token


@pytest.mark.parametrize(
    ("config", "tensor_parallel", "request_bytes"),
    [
        (models.LLAMA_8B, 4, 1000 * 131_072 // 4),
        (models.LLAMA_8B, 16, 1000 * 131_072 // 8),  # 8 heads on 16 devices: each head twice
        (models.DEEPSEEK_V3, 16, 1000 * 70_272),  # a latent vector is not divided
        # 12 full layers keep 1000 tokens, 12 sliding ones 128; 8 heads x 64 x 2 x 2 bytes
        (models.GPT_OSS_20B, 1, (12 * 1000 + 12 * 128) * 2048),
        # 3 of 4 layers keep a state of fixed size instead
        (models.LLAMA_8B | {"full_attention_interval": 4}, 1, 1000 * 131_072 // 4),
        (models.LLAMA_8B | {"hybrid_override_pattern": "M-M*" * 8}, 1, 1000 * 131_072 // 4),
        (models.LLAMA_8B | {"layer_types": ["linear_attention", "full_attention"] * 16}, 1, 1000 * 131_072 // 2),
    ],
)
def test_a_request_on_one_device(config: models.Config, tensor_parallel: int, request_bytes: int) -> None:
    """Heads are shared out, repeated beyond their number; layers count only what they keep."""
    cache = model_facts(config).cache
    assert cache is not None
    assert cache.request(1000, tensor_parallel) == request_bytes


@pytest.mark.parametrize(
    ("quantisation", "bits"),
    [
        ({"quant_method": "fp8"}, 8),
        ({"quant_method": "modelopt", "quant_algo": "NVFP4"}, 4.5),
        ({"quant_method": "awq", "bits": 4}, 4.25),
        ({"quant_method": "gptq", "bits": 8}, 8),
        ({"quant_method": "compressed-tensors", "config_groups": {"group_0": {"weights": {"num_bits": 4}}}}, 4.25),
        ({"quant_method": "bitsandbytes", "load_in_4bit": True}, 4.25),
        ({"quant_method": "never-heard-of"}, None),
        (None, None),
    ],
)
def test_the_bits_of_quantised_weights(quantisation: models.Config | None, bits: float | None) -> None:
    assert quantised_bits({"quantization_config": quantisation}) == bits


@pytest.mark.parametrize(
    ("change", "layers"),
    [
        ({}, 48),
        ({"mlp_only_layers": [0, 1]}, 46),
        ({"decoder_sparse_step": 2}, 24),
        ({"first_k_dense_replace": 3}, 45),
        ({"moe_layer_freq": [0, 1, 1]}, 2),
        ({"mlp_only_layers": list(range(60))}, 0),
    ],
)
def test_which_layers_have_experts(change: models.Config, layers: int) -> None:
    shape = read_shape(models.QWEN3_30B | change)
    assert shape is not None
    assert shape.experts is not None
    assert shape.experts.layers == layers


def test_an_estimate_keeps_the_tables_in_16_bits() -> None:
    """AWQ: 6 979 588 096 parameters of layers and norm at 4.25 bits, 1 050 673 152 of tables at 16."""
    weights = model_facts(models.LLAMA_8B | {"quantization_config": {"bits": 4}}).weights
    assert weights is not None
    assert weights.split == int(6_979_588_096 * 4.25 / 8) + 2 * 1_050_673_152
    assert weights.estimated
    assert "estimate" in weights.source


def test_mxfp4_is_for_experts_only() -> None:
    """gpt-oss-20b: its files have 13.76 GB, of 20.9 B parameters."""
    weights = model_facts(models.GPT_OSS_20B).weights
    assert weights is not None
    assert weights.total / BILLION == pytest.approx(13.76, rel=0.01)


def test_some_families_share_their_tables_without_a_setting() -> None:
    """Gemma 2 9B: 9.24 B with one table of 256 000 words; its config.json does not mention it."""
    gemma = {"model_type": "gemma2", "num_hidden_layers": 42, "hidden_size": 3584, "num_attention_heads": 16}
    gemma |= {"num_key_value_heads": 8, "head_dim": 256, "intermediate_size": 14336, "vocab_size": 256_000}
    assert parameters(gemma) / BILLION == pytest.approx(9.24, rel=0.003)
    assert parameters(gemma | {"tie_word_embeddings": False}) / BILLION == pytest.approx(10.16, rel=0.003)


def test_files_that_were_seen_win_over_an_estimate() -> None:
    weights = model_facts(models.QWEN3_30B, weight_bytes=61 * BILLION).weights
    assert weights is not None
    assert weights.total == 61 * BILLION
    assert not weights.estimated
    assert weights.experts / weights.total == pytest.approx(29.0 / 30.5, abs=0.01)  # 48 x 128 x 3 x 2048 x 768


def test_float32_files_are_served_in_half_their_size() -> None:
    weights = model_facts(models.LLAMA_8B | {"torch_dtype": "float32"}, weight_bytes=32 * BILLION).weights
    assert weights is not None
    assert weights.total == 16 * BILLION
    assert "16 bits" in weights.source


ODD = st.sampled_from([None, 0, -1, 1, 3, 999_999, 2.5, True, "7", [], [1, 0], ["x"], {}, {"bits": "4"}])
KEYS = st.sampled_from(
    [*models.DEEPSEEK_V3, *models.GPT_OSS_20B, "text_config", "mtp_config", "moe_layer_freq", "mlp_only_layers"]
)


@given(st.sampled_from([models.LLAMA_8B, models.DEEPSEEK_V3, models.GPT_OSS_20B]), st.dictionaries(KEYS, ODD))
def test_an_odd_config_is_read_without_an_error(config: models.Config, odd: models.Config) -> None:
    """Whatever stands in a field, the answer is a size that is not negative, or that it is not known."""
    for method in ("eagle3", "draft_model", "mtp", "medusa", "dflash", "eagle"):
        facts = draft_facts(method, target=config | odd, tokens=3)
        assert facts.weights is None or facts.weights.total > 0
        assert facts.cache is None or facts.cache.request(1000, 2) >= 0
    whole = model_facts(config | odd, weight_bytes=10**9)
    assert whole.weights is not None
    assert whole.weights.total == 10**9


@pytest.mark.parametrize("config", [None, {}, {"num_hidden_layers": "32"}, {"num_hidden_layers": True}])
def test_a_config_without_sizes_has_no_facts(config: models.Config | None) -> None:
    facts = model_facts(config)
    assert (facts.weights, facts.cache, facts.vocab, facts.longest) == (None, None, 0, 0)


def test_weights_are_shared_out_by_what_divides_them() -> None:
    """8 devices by tensor parallelism, experts over 16: an eighth of one part, a sixteenth of the other."""
    weights = model_facts(models.QWEN3_30B, weight_bytes=61 * BILLION).weights
    assert weights is not None
    assert weights.share(8, 1, 16) == pytest.approx(weights.split / 8 + weights.experts / 16, abs=1)
    assert weights.share(8) == pytest.approx(weights.total / 8, abs=1)
    assert weights.share(8, 2) == pytest.approx(weights.total / 16, abs=1)


@pytest.mark.parametrize(
    ("method", "target", "draft", "total", "per_token"),
    [
        # Layer 218 112 000, queries, keys and values over twice the width 25 165 824, 3 joined states 50 331 648,
        # head of 32 000 words 131 072 000: 424 681 472 parameters.
        ("eagle3", models.LLAMA_8B, models.EAGLE3_8B, 2 * 424_681_472, 4096),
        # Unseen: the same with the target's 128 256 words.
        ("eagle3", models.LLAMA_8B, None, 2 * (424_681_472 + 96_256 * 4096), 4096),
        # A layer and 2 x 4096 x 4096 that join; embedding and head are the target's.
        ("eagle", models.LLAMA_8B, None, 2 * (218_112_000 + 33_554_432), 4096),
        ("dflash", models.LLAMA_8B, None, 2 * 5 * (218_112_000 + 16_777_216), 5 * 4096),
        # 3 heads: a square of the width and a head of 128 256 words each; no attention, no cache.
        ("medusa", models.LLAMA_8B, None, 2 * 3 * (16_777_216 + 525_336_576), 0),
        # Two joined states of a target twice as wide: 2 x 8192 x 4096 instead of 3 x 4096 x 4096.
        ("eagle3", models.LLAMA_70B, WIDE, 2 * (424_681_472 + 16_777_216), 4096),
        # A head is in 16 bits though its target is in 8.
        ("eagle", models.LLAMA_8B | FP8, None, 2 * (218_112_000 + 33_554_432), 4096),
        # The config's 5 heads, whatever is asked of them.
        ("medusa", None, MEDUSA, 2 * 5 * (16_777_216 + 525_336_576), 0),
        ("draft_model", models.LLAMA_70B, models.LLAMA_8B, 2 * 8_030_261_248, 131_072),
        # Unseen: a tenth of the target's weights, 40 % of its cache (205 of 512 bytes, 80 layers of 8 heads).
        ("draft_model", models.LLAMA_70B, None, 14_110_741_299, 131_200),
        ("ngram", models.LLAMA_8B, None, 0, 0),
        ("suffix", models.LLAMA_8B, None, 0, 0),
        ("ngram", None, None, 0, 0),
    ],
)
def test_a_draft_by_its_method(
    method: str, target: models.Config | None, draft: models.Config | None, total: int, per_token: int
) -> None:
    facts = draft_facts(method, target=target, draft=draft, tokens=3)
    assert facts.weights is not None
    assert facts.cache is not None
    assert facts.weights.total == total
    assert facts.cache.per_token == per_token


def test_deepseeks_own_head_has_11_billion_parameters() -> None:
    """The model card's 14 B less the 1.9 B of the two tables, which the engine shares. 8
    bits, except the joining layer.
    """
    facts = draft_facts("mtp", target=models.DEEPSEEK_V3)
    assert facts.weights is not None
    assert facts.cache is not None
    assert facts.weights.total / BILLION == pytest.approx(11.6, rel=0.02)
    assert facts.cache.per_token == 1152


def test_every_head_for_multi_token_prediction_counts() -> None:
    one, two = (draft_facts("mtp", target=models.LLAMA_8B | {"num_nextn_predict_layers": n}) for n in (1, 2))
    assert one.weights is not None
    assert two.weights is not None
    assert two.weights.total == 2 * one.weights.total
    assert two.cache is not None
    assert two.cache.per_token == 2 * 4096


@pytest.mark.parametrize("method", ["custom_class", "extract_hidden_states", "mlp_speculator"])
def test_a_method_without_facts_has_only_its_files(method: str) -> None:
    facts = draft_facts(method, target=models.LLAMA_8B, weight_bytes=5)
    assert facts.cache is None
    assert facts.weights is not None
    assert facts.weights.total == 5
    assert draft_facts(method, target=models.LLAMA_8B).weights is None


def test_a_drafts_config_without_sizes_is_not_replaced_by_the_usual() -> None:
    assert draft_facts("eagle3", target=models.LLAMA_8B, draft={}).weights is None
    assert draft_facts("draft_model", target=models.LLAMA_8B, draft={}).weights is None
