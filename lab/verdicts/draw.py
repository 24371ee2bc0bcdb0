"""Configurations at random: methods, keys, values, flags and models as a user might combine them, mistakes too.

The same seed draws the same cases. Most are nearly right, since a case with five mistakes shows little about each.
"""

import random
from collections.abc import Iterator, Mapping
from typing import Any, Final

DRAFT: Final = "/mnt/draft/model"
TARGETS: Final = (
    *("llama", "llama", "qwen2", "qwen3", "qwen3", "mistral", "mimo", "ds3-n1", "ds3-n2", "glm4moe", "gpt-oss"),
    *("qwen3-moe", "qwen3next", "llava", "qwen2.5-vl", "mamba", "llama-fp8", "gemma2"),
)
DRAFTS: Final[Mapping[str, tuple[str, ...]]] = {
    "draft_model": (
        "d-llama",
        "d-llama",
        "d-qwen2",
        "d-llama-v2050",
        "d-pard",
        "d-llama-fp8",
        "d-mamba",
        "d-unknown-type",
    ),
    "eagle": ("d-eagle", "d-eagle", "d-eagle-arch", "d-eagle-npredict2", "d-eagle-noarch", "d-llama"),
    "eagle3": (
        "d-eagle3",
        "d-eagle3",
        "d-eagle3-dv1024",
        "d-peagle",
        "d-speculators-eagle3",
        "d-eagle3-ctx256",
        "d-dflash",
    ),
    "dflash": ("d-dflash", "d-dflash", "d-dflash-causal", "d-dflash-mixed-swa", "d-dflash-n2", "d-llama"),
    "dspark": ("d-dspark", "d-dspark-noblock", "d-dspark-altname"),
    "medusa": ("d-medusa", "d-medusa-old", "d-medusa-v2050"),
    "mtp": ("d-mimo", "d-ds3-n1", "d-ds3-n2", "d-mimo-mtp"),
}
BARE: Final = (
    "ngram",
    "ngram",
    "ngram_gpu",
    "suffix",
    "mtp",
    "extract_hidden_states",
    "custom_class",
    "deepseek_mtp",
    "bogus",
)
KEYS: Final[Mapping[str, tuple[Any, ...]]] = {
    "draft_tensor_parallel_size": (1, 2, 3, 0),
    "max_model_len": (64, 512, 2048, 100_000),
    "quantization": ("fp8", "awq", "bogus", None),
    "parallel_drafting": (True, False),
    "disable_padded_drafter_batch": (True, False),
    "enforce_eager": (True, "yes", "maybe"),
    "prompt_lookup_min": (1, 2, 5, 0),
    "prompt_lookup_max": (1, 4, 5),
    "suffix_decoding_max_tree_depth": (24, 0, 8),
    "suffix_decoding_min_token_prob": (0.1, 1.5),
    "rejection_sample_method": ("standard", "block", "fly", "synthetic", "strict"),
    "synthetic_acceptance_length": (1.0, 2.5, 9.0),
    "draft_sample_method": ("greedy", "probabilistic", "random"),
    "use_heterogeneous_vocab": (True, False),
    "use_local_argmax_reduction": (True, False),
    "enable_adaptive_verification": (True, False),
    "num_speculative_tokens_per_batch_size": ([[1, 4, 2], [5, 64, 1]], [[2, 4, 1]], [], [[1, 4, 3], [3, 8, 1]]),
    "attention_backend": ("FLASH_ATTN", "flashinfer", "auto", "BOGUS"),
    "moe_backend": ("auto", "triton", "bogus"),
    "kv_cache_dtype": ("auto", "fp8"),
    "dspark_draft_topk": (8, 1, 10**6),
    "draft_lm_head_quantization": ("fp8", "nvfp4", "int8"),
    "xpress_topc": (0, 4, -1),
    "fly_window_size": (1, 3, 9),
    "fly_entropy_threshold": (0.2, -0.1),
    "index_share_for_mtp_iteration": (True, False),
    "disable_eagle_block_drop": (True, False),
    "draft_load_config": ({"load_format": "dummy"}, {"foo": 1}),
    "tensor_parallel_size": (2,),
    "no_such_key": (1,),
}
FLAGS: Final[Mapping[str, tuple[Any, ...]]] = {
    "tensor_parallel_size": (1, 2, 4),
    "pipeline_parallel_size": (1, 2),
    "data_parallel_size": (2,),
    "max_num_seqs": (1, 8, 256, 1024),
    "max_num_batched_tokens": (4, 16, 512, 2048, 8192),
    "max_model_len": (256, 1024, 2048, 4096),
    "enable_chunked_prefill": (True, False),
    "enable_prefix_caching": (True, False),
    "async_scheduling": (True, False),
    "enable_lora": (True,),
    "enforce_eager": (True,),
    "kv_cache_dtype": ("auto", "fp8", "bogus"),
    "enable_expert_parallel": (True,),
    "enable_eplb": (True,),
    "decode_context_parallel_size": (2,),
    "kv_sharing_fast_prefill": (True,),
    "compilation_config": ({"cudagraph_mode": "NONE"}, {"cudagraph_mode": "FULL"}, {"cudagraph_mode": "bogus"}),
    "per_request_spec_decode_metrics": ("summary", "detailed"),
    "trust_remote_code": (True,),
    "long_prefill_token_threshold": (64, 100_000),
    "quantization": ("fp8", "bogus"),
    "performance_mode": ("throughput", "balanced"),
}
NPU_OPTIONS: Final[tuple[dict[str, Any], ...]] = (
    {"rejection_sampler_config": {"enable_block_verify": True}},
    {"rejection_sampler_config": {"enable_entropy_verify": True, "posterior_threshold": 0.9}},
    {"rejection_sampler_config": {"posterior_threshold": 1.5}},
    {"rejection_sampler_config": {"posterior_alpha": -1}},
    {"rejection_sampler_config": {"foo": 1}},
    {"xlite_graph_config": {"enabled": True}},
    {"foo_bar": 1},
)
RUNNERS: Final = ("0", "1")


def drawn(seed: int, count: int, platform: str) -> Iterator[dict[str, Any]]:
    """Cases in the recordings' shape, named by seed and number."""
    choose = random.Random(seed)  # noqa: S311, nothing is kept secret by it
    for number in range(count):
        yield {"id": f"drawn-{seed}-{number}", "method_group": "drawn", **_case(choose, platform)}


def _case(choose: random.Random, platform: str) -> dict[str, Any]:
    target = choose.choice(TARGETS)
    speculation, draft = _speculation(choose)
    made: dict[str, Any] = {"target": target, "draft": draft, "speculative_config": speculation}
    made["engine_args"] = _some(choose, FLAGS, (0, 0, 1, 1, 2, 3))
    if platform == "npu" and choose.random() < 0.3:
        made["engine_args"]["additional_config"] = choose.choice(NPU_OPTIONS)
    if choose.random() < 0.1:
        made["env"] = {"VLLM_USE_V2_MODEL_RUNNER": choose.choice(RUNNERS)}
    if speculation is not None and speculation.get("method") == "suffix":
        made["arctic_stub"] = choose.random() < 0.9
    return made


def _speculation(choose: random.Random) -> tuple[dict[str, Any] | None, str | None]:
    """The object, and the draft's kind."""
    if choose.random() < 0.03:
        return None, None
    with_draft = choose.random() < 0.6
    method = choose.choice([*DRAFTS] if with_draft else BARE)
    made: dict[str, Any] = {"method": method}
    draft = None
    if with_draft and choose.random() < 0.97:
        draft = choose.choice(DRAFTS[method])
        made["model"] = DRAFT
    if method == "custom_class":
        made["model"] = choose.choice(("team.drafts.Last", "Last"))
    if method == "extract_hidden_states":
        made["draft_model_config"] = {"hf_config": {"eagle_aux_hidden_state_layer_ids": [1, 2]}}
    if choose.random() < 0.95:
        made["num_speculative_tokens"] = choose.choice((1, 1, 2, 3, 3, 4, 5, 7, 15, 0, "2", 3.5))
    if choose.random() < 0.03:
        del made["method"]
    return made | _some(choose, KEYS, (0, 0, 0, 1, 1, 2)), draft


def _some(choose: random.Random, table: Mapping[str, tuple[Any, ...]], counts: tuple[int, ...]) -> dict[str, Any]:
    """A few entries of a table, each with one of its values."""
    return {name: choose.choice(table[name]) for name in choose.sample(sorted(table), choose.choice(counts))}
