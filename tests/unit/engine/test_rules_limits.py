"""Numbers and places: tokens, batches, devices, runners. Each rule on both sides."""

from typing import Any

import pytest
from tests.unit.engine.cases import CPU, KINDS, NPU, broken, case, spec

from specdec_engine.case import Case

NGRAM = spec("ngram")
EAGLE3 = spec("eagle3")
MODEL = spec("draft_model")
PARD = spec("draft_model", 8, parallel_drafting=True)
OLD = "0.15.1"
V2 = {"VLLM_USE_V2_MODEL_RUNNER": "1"}
V1 = {"VLLM_USE_V2_MODEL_RUNNER": "0"}
ADAPTIVE = spec("dspark", 4, enable_adaptive_verification=True)
DEEP = {**KINDS["mimo"], "num_attention_heads": 8, "num_key_value_heads": 1}

FEW_HEADS = {**KINDS["llama"], "num_attention_heads": 8, "num_key_value_heads": 2}
CONTEXT_RANKS: dict[str, Any] = {
    "flavor": NPU,
    "version": "0.23.0",
    "tensor_parallel_size": 4,
    "decode_context_parallel_size": 2,
}

SIDES: list[tuple[str, Case, Case]] = [
    (
        "CPU-DFLASH",
        case(spec("dflash"), target="qwen3", draft="d-dflash", version="0.20.2", flavor=CPU),
        case(spec("dflash"), target="qwen3", draft="d-dflash", version="0.25.1", flavor=CPU),
    ),
    ("VERSION-OLD", case(NGRAM, version="0.10.2"), case(NGRAM, version="0.11.0")),
    ("VERSION-NEW", case(NGRAM, version="0.34.0"), case(NGRAM, version="0.33.9")),
    ("K-REQUIRED", case({"method": "ngram"}), case({"method": "suffix"})),
    ("K-REQUIRED", case({"method": "eagle"}, draft="d-eagle"), case({"method": "eagle"}, draft="d-eagle-npredict2")),
    ("K-MTP", case({"method": "mtp"}, target="ds3-n1", draft="d-ds3-n2"), case(spec("mtp", 2), target="ds3-n1")),
    ("K-PREDICT", case(spec("mtp", 3), target="ds3-n2"), case(spec("mtp", 4), target="ds3-n2")),
    ("K-PREDICT", case(spec("eagle", 3), draft="d-eagle-npredict2"), case(spec("eagle", 1), draft="d-eagle-npredict2")),
    ("K-128", case(spec("ngram", 129)), case(spec("ngram", 128))),
    ("K-TREE", case(spec("eagle", 10**6), draft="d-eagle", version=OLD), case(spec("eagle", 10**6), draft="d-eagle")),
    ("K-HEADS", case(spec("medusa", 5), draft="d-medusa"), case(spec("medusa", 4), draft="d-medusa")),
    (
        "K-BLOCK",
        case(spec("dflash", 4), target="qwen3", draft="d-dflash"),
        case(spec("dflash", 3), target="qwen3", draft="d-dflash"),
    ),
    (
        "K-DSPARK",
        case(spec("dspark", 3), target="qwen3", draft="d-dspark", version="0.26.0"),
        case(spec("dspark", 3), target="qwen3", draft="d-dspark"),
    ),
    ("ASC-K", case(spec("ngram", 16), flavor=NPU), case(spec("ngram", 15), flavor=NPU)),
    ("ASC-K", case({"method": "suffix"}, flavor=NPU), case({"method": "suffix"})),
    (
        "NGRAM-WINDOW",
        case(spec("ngram", prompt_lookup_min=5, prompt_lookup_max=4)),
        case(spec("ngram", prompt_lookup_min=9)),
    ),
    ("NGRAM-NUMBA", case(NGRAM), case(spec("ngram_gpu"))),
    ("SUFFIX-PACKAGE", case(spec("suffix"), packages=()), case(spec("suffix"))),
    (
        "SUFFIX-DEPTH",
        case(spec("suffix", suffix_decoding_max_tree_depth=0)),
        case(spec("ngram", suffix_decoding_max_tree_depth=0)),
    ),
    (
        "SUFFIX-CACHED",
        case(spec("suffix", suffix_decoding_max_cached_requests=-1)),
        case(spec("suffix", suffix_decoding_max_cached_requests=0)),
    ),
    (
        "SUFFIX-FACTOR",
        case(spec("suffix", suffix_decoding_max_spec_factor=-0.1)),
        case(spec("suffix", suffix_decoding_max_spec_factor=0)),
    ),
    ("SUFFIX-IDLE", case(spec("suffix", suffix_decoding_max_spec_factor=0)), case(spec("suffix"))),
    (
        "SUFFIX-PROBABILITY",
        case(spec("suffix", suffix_decoding_min_token_prob=1.1)),
        case(spec("suffix", suffix_decoding_min_token_prob=1)),
    ),
    ("SUFFIX-CONFIG", case(spec("suffix", draft_model_config={"a": 1})), case(spec("suffix", draft_model_config={}))),
    ("TP-HEADS", case(MODEL, draft="d-llama-3heads", tensor_parallel_size=2), case(MODEL, draft="d-llama-3heads")),
    ("TP-HEADS", case(tensor_parallel_size=3), case(tensor_parallel_size=4)),
    ("EP-DENSE", case(enable_expert_parallel=True), case(target="qwen3-moe", enable_expert_parallel=True)),
    (
        "PP-TARGET",
        case(target={**KINDS["mamba"], "architectures": ["Mamba2ForCausalLM"]}, pipeline_parallel_size=2),
        case(pipeline_parallel_size=2),
    ),
    (
        "PP-DRAFT",
        case(EAGLE3, draft="d-eagle3", pipeline_parallel_size=2, version="0.25.1"),
        case(EAGLE3, draft="d-eagle3", pipeline_parallel_size=2),
    ),
    (
        "PP-HIDDEN",
        case(spec("extract_hidden_states", 1), pipeline_parallel_size=2),
        case(NGRAM, pipeline_parallel_size=2),
    ),
    ("PP-RISK", case(NGRAM, pipeline_parallel_size=2), case(pipeline_parallel_size=2)),
    (
        "DCP-HEADS",
        case(tensor_parallel_size=2, decode_context_parallel_size=2),
        case(target=DEEP, tensor_parallel_size=4, decode_context_parallel_size=2),
    ),
    (
        "ASC-DCP",
        case(EAGLE3, target=FEW_HEADS, draft="d-eagle3", **CONTEXT_RANKS),
        case(EAGLE3, target=FEW_HEADS, draft={**KINDS["d-eagle3"], "num_key_value_heads": 2}, **CONTEXT_RANKS),
    ),
    (
        "DRAFT-TP",
        case(spec("eagle3", draft_tensor_parallel_size=2), draft="d-eagle3"),
        case(spec("ngram", draft_tensor_parallel_size=2)),
    ),
    (
        "DRAFT-TP-EQUAL",
        case(spec("draft_model", draft_tensor_parallel_size=1), draft="d-llama", tensor_parallel_size=2, version=OLD),
        case(spec("draft_model", draft_tensor_parallel_size=1), draft="d-llama", tensor_parallel_size=2),
    ),
    ("CONTEXT-TARGET", case(max_model_len=4096), case(max_model_len=4096, env={"VLLM_ALLOW_LONG_MAX_MODEL_LEN": "1"})),
    (
        "CONTEXT-DRAFT",
        case(spec("draft_model", max_model_len=512), draft="d-llama-ctx256"),
        case(spec("draft_model", max_model_len=256), draft="d-llama-ctx256"),
    ),
    (
        "CONTEXT-DRAFT",
        case(spec("draft_model", max_model_len=4096), draft="d-llama-ctx8192"),
        case(spec("draft_model", max_model_len=2048), draft="d-llama-ctx8192"),
    ),
    ("CONTEXT-HEAD", case(EAGLE3, draft="d-eagle3-ctx256", version="0.25.1"), case(EAGLE3, draft="d-eagle3-ctx256")),
    (
        "SLOTS-ALL",
        case(PARD, draft="d-pard", max_num_seqs=256, max_num_batched_tokens=2048, version="0.25.1"),
        case(PARD, draft="d-pard", max_num_seqs=256, max_num_batched_tokens=2049, version="0.25.1"),
    ),
    (
        "SLOTS-ALL",
        case(
            spec("eagle3", parallel_drafting=True),
            draft="d-peagle",
            max_num_seqs=4,
            max_num_batched_tokens=8,
            version="0.20.2",
        ),
        case(EAGLE3, draft="d-eagle3", max_num_seqs=4, max_num_batched_tokens=8, version="0.20.2"),
    ),
    (
        "SLOTS-ONE",
        case(PARD, draft="d-pard", max_num_seqs=8, max_num_batched_tokens=8),
        case(PARD, draft="d-pard", max_num_seqs=8, max_num_batched_tokens=9),
    ),
    (
        "SLOTS-STARVED",
        case(MODEL, draft="d-llama", max_num_seqs=256, max_num_batched_tokens=300, version="0.25.1"),
        case(MODEL, draft="d-llama", max_num_seqs=8, max_num_batched_tokens=300, version="0.25.1"),
    ),
    (
        "LORA-BATCH",
        case(NGRAM, enable_lora=True, max_num_seqs=256, max_num_batched_tokens=1023),
        case(NGRAM, enable_lora=True, max_num_seqs=256, max_num_batched_tokens=1024),
    ),
    (
        "BATCH-CONTEXT",
        case(enable_chunked_prefill=False, max_num_batched_tokens=1024),
        case(max_num_batched_tokens=1024),
    ),
    ("BATCH-REQUESTS", case(max_num_seqs=9, max_num_batched_tokens=8), case(max_num_seqs=8, max_num_batched_tokens=8)),
    ("ASYNC-METHOD", case(NGRAM, async_scheduling=True), case(EAGLE3, draft="d-eagle3", async_scheduling=True)),
    (
        "ASYNC-METHOD",
        case(MODEL, draft="d-llama", async_scheduling=True, version=OLD),
        case(MODEL, draft="d-llama", async_scheduling=True),
    ),
    (
        "ASYNC-RUNNER",
        case(spec("suffix"), async_scheduling=True, version="0.33.0"),
        case(NGRAM, async_scheduling=True, version="0.33.0"),
    ),
    (
        "ASYNC-UNPADDED",
        case(spec("eagle3", disable_padded_drafter_batch=True), draft="d-eagle3", async_scheduling=True),
        case(spec("eagle3", disable_padded_drafter_batch=True), draft="d-eagle3"),
    ),
    (
        "ASYNC-NONE",
        case(NGRAM, async_scheduling=True, version="0.11.0"),
        case(NGRAM, async_scheduling=True, version="0.11.2"),
    ),
    (
        "ASYNC-PP",
        case(async_scheduling=True, pipeline_parallel_size=2, version="0.11.2"),
        case(async_scheduling=True, pipeline_parallel_size=2),
    ),
    (
        "ASYNC-PP-RUNNER",
        case(async_scheduling=True, pipeline_parallel_size=2, env=V1),
        case(async_scheduling=True, pipeline_parallel_size=2),
    ),
    ("ASYNC-OFF", case(NGRAM), case(EAGLE3, draft="d-eagle3")),
    ("V2-TRITON", case(NGRAM, flavor=CPU, env=V2), case(NGRAM, env=V2)),
    ("V2-LACKS", case(spec("suffix"), env=V2), case(EAGLE3, draft="d-eagle3", env=V2)),
    ("V2-LACKS", case(enable_dbo=True, env=V2, version="0.25.1"), case(enable_dbo=True, version="0.25.1")),
    ("DSPARK-RUNNER", case(spec("dspark"), draft="d-dspark", flavor=CPU), case(spec("dspark"), draft="d-dspark")),
    (
        "ADAPTIVE-RUNNER",
        case(spec("eagle3", enable_adaptive_verification=True), draft="d-eagle3", flavor=CPU),
        case(spec("eagle3", enable_adaptive_verification=True), draft="d-eagle3"),
    ),
    ("ADAPTIVE-LORA", case(ADAPTIVE, draft="d-dspark", enable_lora=True), case(ADAPTIVE, draft="d-dspark")),
    ("ADAPTIVE-PP", case(ADAPTIVE, draft="d-dspark", pipeline_parallel_size=2), case(ADAPTIVE, draft="d-dspark")),
    ("ADAPTIVE-GRAPHS", case(ADAPTIVE, draft="d-dspark", enforce_eager=True), case(ADAPTIVE, draft="d-dspark")),
    (
        "ADAPTIVE-ARGMAX",
        case(spec("eagle3", enable_adaptive_verification=True, use_local_argmax_reduction=True), draft="d-eagle3"),
        case(ADAPTIVE, draft="d-dspark"),
    ),
    (
        "ADAPTIVE-METHOD",
        case(spec("eagle3", enable_adaptive_verification=True), draft="d-eagle3", version="0.29.0"),
        case(ADAPTIVE, draft="d-dspark", version="0.29.0"),
    ),
    (
        "DFLASH-MIXED",
        case(spec("dflash"), target="qwen3", draft="d-dflash-mixed-swa", env=V1),
        case(spec("dflash"), target="qwen3", draft="d-dflash-mixed-swa"),
    ),
    (
        "DFLASH-CANDIDATES",
        case(
            spec("dflash"), target="qwen3", draft={**KINDS["d-dflash"], "architectures": ["LiLiCorrDraftModel"]}, env=V1
        ),
        case(spec("dflash"), target="qwen3", draft="d-dflash", env=V1),
    ),
    ("CPU-SLEEP", case(flavor=CPU, enable_sleep_mode=True), case(enable_sleep_mode=True)),
    ("CPU-FP8-CACHE", case(flavor=CPU, kv_cache_dtype="fp8", version="0.20.2"), case(flavor=CPU, kv_cache_dtype="fp8")),
    (
        "RAY-MISSING",
        case(flavor=CPU, distributed_executor_backend="ray"),
        case(flavor=CPU, distributed_executor_backend="ray", packages=("ray",)),
    ),
    ("DCP-RANKS", case(decode_context_parallel_size=2), case(tensor_parallel_size=2, decode_context_parallel_size=2)),
    ("PREFILL-THRESHOLD", case(long_prefill_token_threshold=4096), case(long_prefill_token_threshold=2048)),
    ("PARTIAL-PREFILL", case(max_num_partial_prefills=2), case(max_num_partial_prefills=1)),
    ("CPU-PINNED", case(spec("ngram_gpu"), flavor=CPU), case(spec("ngram_gpu"))),
    (
        "CPU-MTP-RECURRENT",
        case(spec("mtp", 1), target="qwen3next", flavor=CPU),
        case(spec("mtp", 1), target="mimo", flavor=CPU),
    ),
    ("CPU-SYNTHETIC", case(spec("ngram", rejection_sample_method="synthetic"), flavor=CPU), case(NGRAM, flavor=CPU)),
    ("CONTEXT-SHORT", case(MODEL, draft="d-llama-ctx256"), case(MODEL, draft="d-llama-ctx256", max_model_len=256)),
    ("HEAD-LAYERS-FEW", case(EAGLE3, draft="d-eagle3-noaux"), case(EAGLE3, draft="d-eagle3")),
    (
        "FAST-PREFILL",
        case(EAGLE3, draft="d-eagle3", kv_sharing_fast_prefill=True),
        case(NGRAM, kv_sharing_fast_prefill=True),
    ),
    ("LOGITS-PROCESSORS", case(spec("suffix"), logits_processors=["a:B"]), case(logits_processors=["a:B"])),
    (
        "MAMBA-ALIGN",
        case(spec("mtp", 1), target="qwen3next", enable_prefix_caching=True, version=OLD),
        case(spec("mtp", 1), target="qwen3next", enable_prefix_caching=True),
    ),
    (
        "MAMBA-CHUNKS",
        case(target="qwen3next", enable_prefix_caching=True, enable_chunked_prefill=False),
        case(target="qwen3next", enable_prefix_caching=True),
    ),
    (
        "GRAPH-SIZES",
        case(NGRAM, compilation_config={"cudagraph_capture_sizes": [1, 4]}),
        case(NGRAM, compilation_config={"cudagraph_capture_sizes": [4, 8]}),
    ),
]


@pytest.mark.parametrize(("rule", "mistake", "sound"), SIDES, ids=[each[0] for each in SIDES])
def test_a_rule_finds_its_mistake_and_nothing_else(rule: str, mistake: Case, sound: Case) -> None:
    """Both sides of each rule."""
    assert rule in broken(mistake)
    assert rule not in broken(sound)
