"""What 0.33 and vllm-ascend 0.23 brought, and what starts and disappoints; each rule on both sides."""

from dataclasses import replace
from typing import Any

from tests.unit.engine.cases import KINDS, NPU, case, spec

from specdec_engine.case import Case

SEPTEMBER = "0.33.0"
OLDER = {"VLLM_USE_V2_MODEL_RUNNER": "0"}
EAGLE3 = spec("eagle3")
DFLASH = KINDS["d-dflash"]
XPRESS = {**DFLASH, "architectures": ["DFlashQwen3XPressModel"]}
PARSE = {**KINDS["d-mimo"], "architectures": ["ParseAuxMTPModel"], "model_type": "mimo_mtp", "n_predict": 1}
LLAMA = KINDS["llama"]
REMOTE = {**LLAMA, "model_type": "brought_along", "auto_map": {"AutoConfig": "configuration.Config"}}
STEP5 = {**LLAMA, "architectures": ["Step5ForCausalLM"]}
FP8 = {**LLAMA, "quantization_config": {"quant_method": "fp8"}}
FOUR_BITS = {**KINDS["d-llama"], "quantization_config": {"quant_method": "awq", "bits": 4}}
COUNTED = {**LLAMA, "architectures": ["UnreadForCausalLM"], "num_mtp_layers": 2}
SEEN = {"architectures": ["UnreadForConditionalGeneration"], "model_type": "llava", "text_config": COUNTED}
HIDDEN = spec("extract_hidden_states", 1, draft_model_config={"hf_config": {"eagle_aux_hidden_state_layer_ids": [1]}})
EXAMPLE = {"kv_connector": "ExampleHiddenStatesConnector", "kv_role": "kv_producer"}
NIXL = {"kv_connector": "NixlConnector", "kv_role": "kv_both"}


def newest(speculation: dict[str, Any] | None, **more: Any) -> Case:
    """A case on 0.33.0."""
    return case(speculation, version=SEPTEMBER, **more)


def npu(speculation: dict[str, Any] | None, **more: Any) -> Case:
    """A case on vllm-ascend 0.23.0."""
    return case(speculation, version="0.23.0", ascend="0.23.0", flavor=NPU, **more)


def head(**more: Any) -> Case:
    """An EAGLE-3 head on 0.33.0."""
    env = more.pop("env", None)
    return newest({**EAGLE3, **more}, draft="d-eagle3", env=env)


def parsed(k: int, env: dict[str, str] | None = None) -> Case:
    """A checkpoint of Parse 3.5's heads."""
    return newest(spec("mtp", k), target="mimo", draft=PARSE, env=env)


ROWS = [[1, 8, 3], [9, 99, 1]]
ONE_BY_ONE = {"num_speculative_tokens_per_batch_size": ROWS}


def called(draft: str, method: str = "eagle") -> Case:
    """A head of which only the name is known."""
    return replace(newest(spec(method, model="/d"), target=None), draft_name=draft)


def targeted(name: str, **config: Any) -> Case:
    """A target of which only the name is known, or only the config."""
    return replace(newest(spec("ngram"), target=config or None), target_name=name)


SIDES: list[tuple[str, Case, Case]] = [
    (
        "HEAD-HIDDEN",
        newest(spec("dflash"), target="qwen3", draft=DFLASH | {"hidden_size": 128}),
        newest(spec("dflash"), target="qwen3", draft=DFLASH),
    ),
    ("POOLING", targeted("hf://Qwen/Qwen3-Embedding-8B:main"), targeted("hf://Qwen/Qwen3-8B:main")),
    ("POOLING", targeted("pvc://m/bge-reranker-v2"), targeted("pvc://embedding-team/llama-reward2")),
    (
        "POOLING",
        targeted("pvc://m/t", model_type="qwen2", architectures=["Qwen2ForSequenceClassification"]),
        targeted("pvc://m/t-embedding", model_type="qwen2", architectures=["Qwen2ForCausalLM"]),
    ),
    (
        "HEAD-NAME",
        called("hf://yuhuili/EAGLE3-LLaMA3.1-Instruct-8B:main"),
        called("hf://yuhuili/EAGLE-LLaMA3.1-Instruct-8B:main"),
    ),
    ("HEAD-NAME", called("pvc://m/heads/qwen3-dflash", "eagle3"), called("pvc://eagle-team/heads/qwen3", "eagle3")),
    ("HEAD-NAME", called("hf://amd/p-eagle-llama", "draft_model"), called("hf://amd/P-EAGLE-Llama", "eagle3")),
    (
        "DRAFT-PRECISION",
        newest(spec("draft_model", model="/d", quantization="awq"), target=None, quantization="fp8"),
        newest(spec("draft_model", model="/d", quantization="fp8"), target=None, quantization="fp8"),
    ),
    (
        "SUFFIX-PACKAGE-UNKNOWN",
        replace(newest(spec("suffix", None)), packages=None),
        newest(spec("suffix", None)),
    ),
    (
        "KEY-DEAD",
        case(spec("ngram", disable_by_batch_size=32), version="0.16.0"),
        case(spec("ngram"), version="0.16.0"),
    ),
    (
        "SCHEDULE-MEDUSA",
        case(spec("medusa", **ONE_BY_ONE), draft="d-medusa"),
        case(spec("medusa"), draft="d-medusa"),
    ),
    (
        "SCHEDULE-UNREAD",
        newest(spec("draft_model", **ONE_BY_ONE), draft="d-llama"),
        newest({**EAGLE3, **ONE_BY_ONE}, draft="d-eagle3"),
    ),
    (
        "SCHEDULE-UNREAD",
        case(spec("draft_model", **ONE_BY_ONE), draft="d-llama"),
        case(spec("draft_model", **ONE_BY_ONE), draft="d-llama", env=OLDER),
    ),
    (
        "DRAFT-TP-UNUSED",
        newest({**EAGLE3, "draft_tensor_parallel_size": 1}, draft="d-eagle3", tensor_parallel_size=2),
        npu({**EAGLE3, "draft_tensor_parallel_size": 1}, draft="d-eagle3", tensor_parallel_size=2),
    ),
    (
        "DRAFT-TP-UNUSED",
        newest({**EAGLE3, "draft_tensor_parallel_size": 1}, draft="d-eagle3", tensor_parallel_size=2),
        newest({**EAGLE3, "draft_tensor_parallel_size": 2}, draft="d-eagle3", tensor_parallel_size=2),
    ),
    (
        "MTP-PREFIX",
        newest(spec("mtp"), target="qwen3.5-text", enable_prefix_caching=True),
        newest(spec("mtp"), target="qwen3.5-text"),
    ),
    (
        "MTP-PREFIX",
        replace(newest(spec("mtp"), target=None, enable_prefix_caching=True), target_name="hf://Qwen/Qwen3.6-27B-FP8"),
        replace(newest(spec("mtp"), target=None, enable_prefix_caching=True), target_name="hf://Qwen/Qwen3-8B"),
    ),
    (
        "PP-DRAFT",
        case({**EAGLE3, "model": "/d"}, pipeline_parallel_size=2, version="0.29.0"),
        case({**EAGLE3, "model": "/d"}, pipeline_parallel_size=2, version="0.30.0"),
    ),
    (
        "ASC-METHOD",
        case(spec("mtp", 1), target="mimo", version="0.11.0", ascend="0.11.0", flavor=NPU),
        case(spec("deepseek_mtp", 1), target="mimo", version="0.11.0", ascend="0.11.0", flavor=NPU),
    ),
    ("LMHEAD-METHOD", newest(spec("ngram", draft_lm_head_quantization="fp8")), head(draft_lm_head_quantization="fp8")),
    (
        "XPRESS-RANGE",
        newest(spec("dflash", xpress_topc=10**6), target="qwen3", draft=XPRESS),
        newest(spec("dflash", xpress_topc=0), target="qwen3", draft=XPRESS),
    ),
    (
        "XPRESS-RUNNER",
        newest(spec("dflash"), target="qwen3", draft=XPRESS, env=OLDER),
        newest(spec("dflash"), target="qwen3", draft=XPRESS),
    ),
    ("K-PARSE", parsed(2), parsed(1)),
    ("PARSE-RUNNER", parsed(1, OLDER), parsed(1)),
    ("STEP5-RUNNER", newest(spec("suffix"), target=STEP5), newest(spec("ngram"), target=STEP5)),
    (
        "TOPK-RANGE",
        newest(spec("dspark", 7, dspark_draft_topk=10**6), target="qwen3", draft="d-dspark"),
        newest(spec("dspark", 7, dspark_draft_topk=8), target="qwen3", draft="d-dspark"),
    ),
    (
        "HETERO-ARGMAX",
        newest(spec("draft_model", use_heterogeneous_vocab=True, use_local_argmax_reduction=True), draft="d-llama"),
        newest(spec("draft_model", use_heterogeneous_vocab=True), draft="d-llama"),
    ),
    ("MODEL-CODE", newest(spec("ngram"), target=REMOTE), newest(spec("ngram"), target=REMOTE, trust_remote_code=True)),
    (
        "MTP-TRANSFORMERS",
        newest(spec("mtp", 2), target=SEEN, model_impl="transformers"),
        newest(spec("mtp", 2), target=COUNTED),
    ),
    ("K-REPEATS", newest(spec("mtp", 2), target="mimo"), newest(spec("mtp", 1), target="mimo")),
    (
        "SLOTS-ACTIVE",
        newest(spec("dflash", 3), target="qwen3", draft="d-dflash", max_num_batched_tokens=512, max_num_seqs=256),
        newest(spec("dflash", 3), target="qwen3", draft="d-dflash", max_num_batched_tokens=1024, max_num_seqs=256),
    ),
    (
        "EPLB-EXPERTS",
        newest(None, target="qwen3-moe", enable_eplb=True),
        newest(None, target="qwen3-moe", enable_eplb=True, enable_expert_parallel=True, tensor_parallel_size=2),
    ),
    ("EPLB-DEVICE", npu(None, enable_eplb=True), newest(None, target="qwen3-moe", enable_eplb=True)),
    (
        "DBO-BACKEND",
        newest(None, target="qwen3-moe", enable_dbo=True),
        newest(None, target="qwen3-moe", enable_dbo=True, all2all_backend="deepep_low_latency"),
    ),
    (
        "ASC-HIDDEN-CHUNKS",
        npu(HIDDEN, kv_transfer_config=EXAMPLE),
        npu(HIDDEN, kv_transfer_config=EXAMPLE, enable_chunked_prefill=False),
    ),
    (
        "ASC-ROLE",
        npu(None, additional_config={"layer_sharding": ["q_b_proj"]}),
        npu(None, additional_config={"enable_balance_scheduling": True}),
    ),
    ("ASC-QUANT-CONFIG", npu(None, quantization="fp8"), npu(None, target="llama-fp8", quantization="fp8")),
    (
        "ASC-KV-NZ",
        npu(None, additional_config={"enable_kv_nz": True}),
        npu(None, target="ds3-n1", additional_config={"enable_kv_nz": True}),
    ),
    ("DIFFUSION-BLIND", newest(spec("ngram"), target={**LLAMA, "canvas_length": 32}), newest(spec("ngram"))),
    (
        "EAGLE3-EARLY",
        case(EAGLE3, draft="d-eagle3", version="0.11.0"),
        case(EAGLE3, draft="d-eagle3", version="0.11.1"),
    ),
    ("STRUCTURED-EARLY", case(spec("ngram"), version="0.15.1"), case(spec("ngram"), version="0.16.0")),
    (
        "TRANSFER-EARLY",
        case(spec("ngram"), version="0.16.0", kv_transfer_config=NIXL),
        case(spec("ngram"), version="0.17.0", kv_transfer_config=NIXL),
    ),
    ("LOGPROBS-MOVE", newest(spec("ngram"), max_logprobs=20), newest(spec("ngram"))),
    ("K-MANY", head(num_speculative_tokens=15), head(num_speculative_tokens=5)),
    (
        "MEDUSA-WHOLE",
        case(spec("medusa"), draft="d-medusa", tensor_parallel_size=2),
        case(spec("medusa"), draft="d-medusa"),
    ),
    (
        "DFLASH-BACKEND",
        case(spec("dflash"), target="qwen3", draft="d-dflash", version="0.20.2", attention_backend="FLASHINFER"),
        case(spec("dflash"), target="qwen3", draft="d-dflash", version="0.24.0", attention_backend="FLASHINFER"),
    ),
    (
        "DRAFT-PRECISION",
        case(spec("draft_model"), target=FP8, draft=FOUR_BITS),
        case(spec("draft_model"), draft=FOUR_BITS),
    ),
]
