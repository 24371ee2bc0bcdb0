"""What 0.33 and vllm-ascend 0.23 brought, and what starts and disappoints. Each rule on both sides."""

from typing import Any

import pytest
from tests.unit.engine.cases import KINDS, NPU, broken, case, spec

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


SIDES: list[tuple[str, Case, Case]] = [
    ("LMHEAD-METHOD", newest(spec("ngram", draft_lm_head_quantization="fp8")), head(draft_lm_head_quantization="fp8")),
    ("LMHEAD-RUNNER", head(draft_lm_head_quantization="fp8", env=OLDER), head(draft_lm_head_quantization="fp8")),
    ("XPRESS-TOPC", head(xpress_topc=4), newest(spec("dflash", xpress_topc=4), target="qwen3", draft=XPRESS)),
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
    ("LORA-TARGET", newest(None, target="mamba", enable_lora=True), newest(None, enable_lora=True)),
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
        "ASC-SAMPLER-OBJECT",
        npu(spec("ngram"), additional_config={"rejection_sampler_config": ["block"]}),
        npu(spec("ngram"), additional_config={"rejection_sampler_config": None}),
    ),
    (
        "ASC-XLITE",
        npu(spec("ngram"), additional_config={"xlite_graph_config": {"enabled": True}}),
        npu(spec("ngram", 1), additional_config={"xlite_graph_config": {"enabled": True}}),
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


@pytest.mark.parametrize(("rule", "mistake", "sound"), SIDES, ids=[each[0] for each in SIDES])
def test_a_rule_finds_its_mistake_and_nothing_else(rule: str, mistake: Case, sound: Case) -> None:
    """Both sides of each rule."""
    assert rule in broken(mistake)
    assert rule not in broken(sound)


@pytest.mark.parametrize(
    ("tokens", "method", "draft", "refused"),
    [
        (3, "eagle3", "d-eagle3", True),
        (4, "eagle3", "d-eagle3", False),
        (4, "dflash", "d-dflash", True),
        (5, "dflash", "d-dflash", False),
        (1, "ngram", None, False),
        (4, "draft_model", "d-llama", False),
    ],
)
def test_since_0_33_a_batch_holds_more_than_one_drafter_writes_ahead(
    *, tokens: int, method: str, draft: str | None, refused: bool
) -> None:
    """K for chains, K + 1 for dflash, nothing for what needs no cache of its own."""
    target = "qwen3" if method == "dflash" else "llama"
    asked = newest(spec(method), target=target, draft=draft, max_num_batched_tokens=tokens, max_num_seqs=1)
    assert ("SLOTS-ONE" in broken(asked)) is refused


@pytest.mark.parametrize(
    ("gib", "name", "k", "refused"),
    [
        (80, "NVIDIA H100", 8, True),
        (80, "NVIDIA H100", 7, False),
        (180, "NVIDIA B200", 8, False),
        (24, "NVIDIA L4", 8, True),
        (None, "", 8, False),
        (None, "", 16, True),
    ],
)
def test_what_is_filled_in_depends_on_the_device(*, gib: int | None, name: str, k: int, refused: bool) -> None:
    """LoRA needs K + 1 tokens for each of 1024 requests, or 256. An unknown device is refused
    only what every device refuses.
    """
    known = newest(spec("ngram", k), enable_lora=True)
    device = None if gib is None else gib << 30
    made = Case(
        build=known.build,
        target=known.target,
        speculation=known.speculation,
        args=known.args,
        device_bytes=device,
        device_name=name,
    )
    assert ("LORA-BATCH" in broken(made)) is refused


def test_a_large_a100_is_filled_in_like_a_small_device() -> None:
    """The engine knows it by its name. A device without a known name may be an A100."""
    asked = newest(spec("ngram", 3), enable_lora=True, max_num_batched_tokens=2048)
    by_name = {
        name: Case(
            build=asked.build,
            target=asked.target,
            speculation=asked.speculation,
            args=asked.args,
            device_bytes=80 << 30,
            device_name=name,
        )
        for name in ("NVIDIA H100", "NVIDIA A100-SXM4-80GB", "")
    }
    refused = {name for name, each in by_name.items() if "LORA-BATCH" in broken(each)}
    assert refused == {"NVIDIA H100"}


@pytest.mark.parametrize("mode", ["FULL", "full_decode_only", None])
def test_full_graphs_are_vllm_ascends_default(mode: str | None) -> None:
    """So an unpadded drafter is refused unless graphs are named that can run it."""
    unpadded = {**EAGLE3, "disable_padded_drafter_batch": True}
    graphs = {} if mode is None else {"compilation_config": {"cudagraph_mode": mode}}
    assert "ASC-UNPADDED" in broken(npu(unpadded, draft="d-eagle3", **graphs))
    assert "ASC-UNPADDED" not in broken(npu(unpadded, draft="d-eagle3", compilation_config={"cudagraph_mode": "NONE"}))


def test_a_recurrent_target_has_nothing_to_spread_over_context_ranks() -> None:
    """The engine divides by its number of heads, and falls over it; found by drawing."""
    split = {"tensor_parallel_size": 2, "decode_context_parallel_size": 2}
    assert "DCP-HEADS" in broken(newest(spec("ngram"), target="mamba", **split))
    assert "DCP-HEADS" not in broken(newest(spec("ngram"), target="mamba", tensor_parallel_size=2))


def test_vllm_ascend_runs_a_head_behind_a_pipeline() -> None:
    """Since 0.22.1, while vLLM itself refuses it up to 0.29."""
    assert "PP-DRAFT" not in broken(npu(EAGLE3, draft="d-eagle3", pipeline_parallel_size=2))
    assert "PP-DRAFT" in broken(case(EAGLE3, draft="d-eagle3", pipeline_parallel_size=2, version="0.25.1"))
