"""Rules with a case that breaks each and one that does not: the request, its limits and places, the models."""

from dataclasses import replace
from typing import Any

from tests.unit.engine.cases import CPU, KINDS, NPU, case, spec

from specdec_engine.case import Case

NGRAM = spec("ngram")
OLD = "0.15.1"
SIXTEEN = case(tensor_parallel_size=8, pipeline_parallel_size=2)
EAGLE3 = spec("eagle3")
MODEL = spec("draft_model")
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
HIDDEN = spec("extract_hidden_states", 1, draft_model_config={"hf_config": {"eagle_aux_hidden_state_layer_ids": [1]}})
STORE = {"kv_connector": "ExampleHiddenStatesConnector", "kv_role": "kv_producer"}
LLAMA = KINDS["llama"]
PLAIN_HEAD = {key: value for key, value in KINDS["d-eagle3"].items() if key != "eagle_aux_hidden_state_layer_ids"}
ON_NPUS: dict[str, Any] = {"flavor": NPU, "version": "0.23.0"}

SIDES: list[tuple[str, Case, Case]] = [
    ("FLAG-UNKNOWN", case(no_such_flag=1, version="0.33.0"), case(watchdog_config={}, version="0.33.0")),
    ("FLAG-UNREAD", case(no_such_flag=1, version="0.34.0"), case(watchdog_config={}, version="0.34.0")),
    ("GUARD-BLIND", case(NGRAM, disable_log_stats=True), case(disable_log_stats=True)),
    ("GUARD-BLIND", case(NGRAM, disable_log_stats=True), case(NGRAM, disable_log_stats=False)),
    ("SERVER-HIDDEN", case(host="127.0.0.1"), case(host="0.0.0.0")),
    ("SERVER-HIDDEN", case(uds="/tmp/x"), case(uds=None)),  # noqa: S108 - a socket that is refused
    ("SERVER-HIDDEN", case(headless=True), case(headless=False)),
    ("SERVER-HIDDEN", case(grpc=True), case(grpc=False)),
    ("SERVER-HIDDEN", case(tokens_only=True), case(enable_scale_out=True)),
    ("SERVER-HIDDEN", case(data_parallel_multi_port_external_lb=True), case(data_parallel_size=2)),
    ("SERVER-HIDDEN", case(ssl_certfile="/etc/tls.crt"), case(ssl_ciphers="x")),
    ("SERVER-HIDDEN", case(api_key=["secret"]), case(api_key=None)),
    ("DEVICES-NODE", case(tensor_parallel_size=32), case(tensor_parallel_size=32, nnodes=4)),
    ("DEVICES-MANY", SIXTEEN, case(tensor_parallel_size=8)),
    ("DEVICES-MANY", SIXTEEN, replace(SIXTEEN, devices=16)),
    ("DEVICES-PENDING", replace(SIXTEEN, other_devices=True), SIXTEEN),
    (
        "DEVICES-FEW",
        replace(case(tensor_parallel_size=8), devices=4),
        replace(case(tensor_parallel_size=8), devices=8),
    ),
    ("FLAG-VALUE", case(max_num_seqs="many"), case(max_num_seqs=8)),
    ("FLAG-VALUE", case(compilation_config=3), case(compilation_config={"mode": 3})),
    ("KEY-DROPPED", case(spec("ngram", foo=1), version=OLD), case(spec("ngram", foo=1))),
    ("KEY-INTERNAL", case(spec("ngram", target_model_config={"model": "x"})), case(NGRAM)),
    (
        "KEY-TWICE",
        case({**NGRAM, "num-speculative-tokens": 5}),
        case({"method": "ngram", "num-speculative-tokens": 5}),
    ),
    ("METHOD-UNKNOWN", case(spec("lookahead")), case(NGRAM)),
    ("K-TYPE", case(spec("ngram", 0)), case(spec("ngram", "3"))),
    ("VALUE-LOOSE", case(spec("ngram", "3")), case(spec("ngram", 3))),
    ("METHOD-OMITTED", case(spec(None), draft="d-llama"), case(spec("draft_model"), draft="d-llama")),
    (
        "METHOD-REPLACED",
        case(spec("draft_model"), draft="d-llama", path="/models/eagle3-head"),
        case(spec("draft_model"), draft="d-llama"),
    ),
    ("METHOD-ALIAS", case(spec("mimo_mtp", 1), target="mimo"), case(spec("mtp", 1), target="mimo")),
    ("METHOD-NONE", case(spec(None), draft="d-eagle", version=OLD), case(spec("eagle"), draft="d-eagle", version=OLD)),
    ("MODEL-MISSING", case(spec("custom_class")), case(spec("custom_class", model="my.Proposer"))),
    ("MODEL-UNUSED", case(spec("suffix", model="/x")), case(spec("suffix"))),
    ("MTP-FAMILY", case(spec("mtp", 1)), case(spec("mtp", 1), target="ds3-n1")),
    (
        "MTP-DEEPSEEK-V41",
        case(spec("mtp", 1), target={**KINDS["ds3-n1"], "model_type": "deepseek_v41"}),
        case(spec("mtp", 1), target="ds3-n1"),
    ),
    ("DRAFT-MODEL-SINCE", case(spec("draft_model"), version="0.14.0"), case(spec("draft_model"), version=OLD)),
    ("MLP-SPECULATOR", case(spec("mlp_speculator"), draft="d-mlp-speculator"), case(NGRAM)),
    ("CUSTOM-CLASS-PATH", case(spec("custom_class", model="/x")), case(spec("custom_class", model="my.Proposer"))),
    ("KEY-UNUSED", case(spec("ngram", max_model_len=99)), case(spec("eagle3", max_model_len=99), draft="d-eagle3")),
    ("HIDDEN-CONFIG", case(spec("extract_hidden_states", 1, draft_model_config={"hf_config": 5})), case(NGRAM)),
    ("CPU-SPECULATION", case(NGRAM, flavor=CPU, version=OLD), case(NGRAM, flavor=CPU)),
    (
        "CPU-DFLASH",
        case(spec("dflash"), target="qwen3", draft="d-dflash", version="0.20.2", flavor=CPU),
        case(spec("dflash"), target="qwen3", draft="d-dflash", version="0.25.1", flavor=CPU),
    ),
    ("VERSION-OLD", case(NGRAM, version="0.10.2"), case(NGRAM, version="0.11.0")),
    ("VERSION-NEW", case(NGRAM, version="0.34.0"), case(NGRAM, version="0.33.9")),
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
    ("NGRAM-NUMBA", case(NGRAM), case(spec("ngram_gpu"))),
    ("SUFFIX-IDLE", case(spec("suffix", suffix_decoding_max_spec_factor=0)), case(spec("suffix"))),
    ("SUFFIX-CONFIG", case(spec("suffix", draft_model_config={"a": 1})), case(spec("suffix", draft_model_config={}))),
    (
        "PP-TARGET",
        case(target={**KINDS["mamba"], "architectures": ["Mamba2ForCausalLM"]}, pipeline_parallel_size=2),
        case(pipeline_parallel_size=2),
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
        "DRAFT-TP-EQUAL",
        case(spec("draft_model", draft_tensor_parallel_size=1), draft="d-llama", tensor_parallel_size=2, version=OLD),
        case(spec("draft_model", draft_tensor_parallel_size=1), draft="d-llama", tensor_parallel_size=2),
    ),
    ("CONTEXT-TARGET", case(max_model_len=4096), case(max_model_len=4096, env={"VLLM_ALLOW_LONG_MAX_MODEL_LEN": "1"})),
    ("CONTEXT-HEAD", case(EAGLE3, draft="d-eagle3-ctx256", version="0.25.1"), case(EAGLE3, draft="d-eagle3-ctx256")),
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
    ("BATCH-REQUESTS", case(max_num_seqs=9, max_num_batched_tokens=8), case(max_num_seqs=8, max_num_batched_tokens=8)),
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
    ("V2-LACKS", case(enable_dbo=True, env=V2, version="0.25.1"), case(enable_dbo=True, version="0.25.1")),
    ("ADAPTIVE-PP", case(ADAPTIVE, draft="d-dspark", pipeline_parallel_size=2), case(ADAPTIVE, draft="d-dspark")),
    ("ADAPTIVE-GRAPHS", case(ADAPTIVE, draft="d-dspark", enforce_eager=True), case(ADAPTIVE, draft="d-dspark")),
    (
        "ADAPTIVE-METHOD",
        case(spec("eagle3", enable_adaptive_verification=True), draft="d-eagle3", version="0.29.0"),
        case(ADAPTIVE, draft="d-dspark", version="0.29.0"),
    ),
    (
        "DFLASH-CANDIDATES",
        case(
            spec("dflash"), target="qwen3", draft={**KINDS["d-dflash"], "architectures": ["LiLiCorrDraftModel"]}, env=V1
        ),
        case(spec("dflash"), target="qwen3", draft="d-dflash", env=V1),
    ),
    (
        "RAY-MISSING",
        case(flavor=CPU, distributed_executor_backend="ray"),
        case(flavor=CPU, distributed_executor_backend="ray", packages=("ray",)),
    ),
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
    ("LOGITS-PROCESSORS", case(spec("suffix"), logits_processors=["a:B"]), case(logits_processors=["a:B"])),
    (
        "MAMBA-CHUNKS",
        case(target="qwen3next", enable_prefix_caching=True, enable_chunked_prefill=False),
        case(target="qwen3next", enable_prefix_caching=True),
    ),
    (
        "GRAPH-SIZES",
        case(NGRAM, compilation_config={"cudagraph_capture_sizes": [1, 4]}),
        case(NGRAM, compilation_config={"cudagraph_capture_sizes": [1, 4], "cudagraph_mode": "PIECEWISE"}),
    ),
    ("MODEL-TYPE", case(MODEL, draft="d-unknown-type"), case(MODEL, draft="d-llama")),
    ("ARCH-UNKNOWN", case(target={**LLAMA, "architectures": ["Nope"]}), case(target={**LLAMA, "auto_map": {}})),
    (
        "ARCH-HEAD",
        case(spec("eagle"), draft="d-eagle-qwen2", version="0.11.2"),
        case(spec("eagle"), draft="d-eagle", version="0.11.2"),
    ),
    ("MEDUSA-DRAFT", case(spec("medusa"), draft="d-llava"), case(spec("medusa"), draft="d-medusa")),
    ("DRAFT-EMBEDS", case(MODEL, draft="d-bert", version="0.20.2"), case(MODEL, draft="d-llama", version="0.20.2")),
    ("ASC-QUANT", case(quantization="awq", **ON_NPUS), case(quantization="ascend", **ON_NPUS)),
    ("ASC-QUANT", case(quantization="fp8", **ON_NPUS | {"version": "0.20.2"}), case(quantization="fp8", **ON_NPUS)),
    ("ASC-QUANT", case(target="d-llama-gptq", **ON_NPUS), case(target="d-llama-gptq")),
    (
        "QUANT-DIFFERS",
        case(spec("draft_model", quantization="fp8"), draft="d-llama-gptq"),
        case(spec("draft_model", quantization="gptq_marlin"), draft="d-llama-gptq"),
    ),
    (
        "QUANT-DEPRECATED",
        case(quantization="fp_quant"),
        case(quantization="fp_quant", allow_deprecated_quantization=True),
    ),
    (
        "ASC-HETERO",
        case(spec("draft_model", use_heterogeneous_vocab=True), draft="d-llama", flavor=NPU, version="0.25.1"),
        case(spec("draft_model", use_heterogeneous_vocab=True), draft="d-llama"),
    ),
    (
        "TOKENIZER-DIFFERS",
        case(MODEL, draft="d-llama", tokenizers=("a", "b")),
        case(MODEL, draft="d-llama", tokenizers=("a", "")),
    ),
    (
        "MEDUSA-TARGET",
        case(spec("medusa"), target="qwen2.5-vl", draft="d-medusa"),
        case(spec("medusa"), target="qwen2", draft="d-medusa"),
    ),
    ("HEAD-VOCAB", case(spec("eagle"), draft="d-eagle-v2050"), case(spec("eagle"), draft="d-eagle")),
    ("HIDDEN-INTERFACE", case(EAGLE3, target="opt", draft="d-eagle3"), case(EAGLE3, draft="d-eagle3")),
    ("HEAD-HIDDEN", case(spec("eagle"), draft="d-eagle-h128"), case(spec("eagle"), draft="d-eagle")),
    (
        "HEAD-LAYERS",
        case(EAGLE3, draft={**PLAIN_HEAD, "eagle_config": {"eagle_aux_hidden_state_layer_ids": [1, 2, 99]}}),
        case(EAGLE3, draft={**PLAIN_HEAD, "eagle_config": {"eagle_aux_hidden_state_layer_ids": [1, 2, 3]}}),
    ),
    (
        "PARALLEL-MASK",
        case(spec("eagle3", parallel_drafting=True), draft=KINDS["d-speculators-eagle3"]),
        case(spec("eagle3", parallel_drafting=True), draft={**KINDS["d-speculators-eagle3"], "mask_token_id": 3}),
    ),
    ("HEAD-ORDINARY", case(EAGLE3, draft="d-llama"), case(EAGLE3, draft="d-eagle3")),
    ("HEAD-AS-MODEL", case(MODEL, draft="d-eagle3"), case(MODEL, draft="d-llama")),
    ("HEAD-AS-MODEL", case(MODEL, draft="d-speculators-eagle3"), case(EAGLE3, draft="d-speculators-eagle3")),
    (
        "PARALLEL-MASK",
        case(spec("draft_model", parallel_drafting=True), draft="d-llama"),
        case(spec("draft_model", parallel_drafting=True), draft="d-pard"),
    ),
    (
        "PARALLEL-MASK",
        case(spec("dflash"), target="qwen3", draft="d-dflash-nomask"),
        case(spec("dflash"), target="qwen3", draft="d-dflash"),
    ),
    (
        "UNPADDED-DRAFTER",
        case(spec("draft_model", disable_padded_drafter_batch=True), draft="d-llama"),
        case(spec("eagle3", disable_padded_drafter_batch=True), draft="d-eagle3"),
    ),
    (
        "DRAFT-MULTIMODAL",
        case(MODEL, target="llava", draft="d-llama", version="0.20.2"),
        case(MODEL, target="llava", draft="d-llama"),
    ),
    (
        "DRAFT-MROPE",
        case(MODEL, draft={**KINDS["d-llama"], "rope_scaling": {"mrope_section": [1]}}),
        case(MODEL, draft="d-llama"),
    ),
    ("MTP-HEADS", case(spec("mtp", 1), target="ds3-n0"), case(spec("mtp", 1), target="ds3-n1")),
    (
        "MTP-HEADS",
        case(spec("mtp", 1), target={**KINDS["qwen3next"], "num_nextn_predict_layers": 0}),
        case(spec("mtp", 1), target={k: v for k, v in KINDS["qwen3next"].items() if k != "num_nextn_predict_layers"}),
    ),
    ("MTP-OTHER", case(spec("mtp", 1), draft="d-ds3-n1"), case(spec("mtp", 1), target="ds3-n1", draft="d-ds3-n1")),
    ("MTP-EAGER", case(spec("mtp", 1), target="ds32", version="0.28.0"), case(spec("mtp", 1), target="ds32")),
    ("DRAFT-ITSELF", case(MODEL, draft="llama", path="/models/target"), case(MODEL, draft="d-llama")),
    (
        "LOAD-FORMAT",
        case(spec("eagle3", draft_load_config={"load_format": "bogus"}), draft="d-eagle3"),
        case(spec("eagle3", draft_load_config={"load_format": "dummy"}), draft="d-eagle3"),
    ),
    ("HIDDEN-K", case({**HIDDEN, "num_speculative_tokens": 2}), case(HIDDEN)),
    ("HIDDEN-CONNECTOR", case(HIDDEN), case(HIDDEN, kv_transfer_config=STORE)),
    (
        "HIDDEN-LAYERS",
        case({**HIDDEN, "draft_model_config": {"hf_config": {"eagle_aux_hidden_state_layer_ids": [99]}}}),
        case({**HIDDEN, "draft_model_config": {"hf_config": {"eagle_aux_hidden_state_layer_ids": [4]}}}),
    ),
    ("POOLING", case(MODEL, draft="d-llama", runner="pooling"), case(runner="pooling")),
    ("POOLING", case(spec("ngram"), convert="embed"), case(spec("ngram"), convert="none")),
    (
        "POOLING",
        case(spec("ngram"), version="0.11.2", task="score"),
        case(spec("ngram"), version="0.11.2", task="generate"),
    ),
    (
        "ENCODER-PRODUCER",
        case(ec_transfer_config={"ec_role": "ec_producer"}),
        case(target="llava", ec_transfer_config={"ec_role": "ec_producer"}),
    ),
    ("CPU-MLA", case(target="ds3-n1", flavor=CPU, version="0.25.1"), case(target="ds3-n1", flavor=CPU)),
]
