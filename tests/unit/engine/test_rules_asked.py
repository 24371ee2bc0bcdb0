"""Rules about the request: flags, keys, types, methods. Each rule finds its mistake, and only its mistake."""

from dataclasses import replace

import pytest
from tests.unit.engine.cases import CPU, KINDS, broken, case, spec

from specdec_engine.case import Case

NGRAM = spec("ngram")
OLD = "0.15.1"
SIXTEEN = case(tensor_parallel_size=8, pipeline_parallel_size=2)
TREE = "speculative_token_tree"

SIDES: list[tuple[str, Case, Case]] = [
    ("FLAG-UNKNOWN", case(mamba_cache_mode="align", version="0.11.2"), case(mamba_cache_mode="align")),
    ("FLAG-UNKNOWN", case(watermark=0.1, version="0.20.2"), case(watermark=0.1)),
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
    ("DEVICES-NODE", case(tensor_parallel_size=8, pipeline_parallel_size=4), case(tensor_parallel_size=16)),
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
    ("FLAG-VALUE", case(mamba_cache_mode="all"), case(mamba_cache_mode="all", version="0.25.1")),
    ("FLAG-VALUE", case(kv_transfer_config={"kv_role": "prefill"}), case(kv_transfer_config={"kv_role": "kv_both"})),
    ("FLAG-VALUE", case(attention_backend="bogus"), case(attention_backend="flash_attn")),
    ("TRANSFER-ROLE", case(kv_transfer_config={"kv_connector": "X"}), case(kv_transfer_config={})),
    ("KEY-UNKNOWN", case(spec("ngram", foo=1)), case(spec("ngram", foo=1), version=OLD)),
    ("KEY-UNKNOWN", case({"num-speculative-tokens": 3}, version="0.25.1"), case({"num-speculative-tokens": 3})),
    ("KEY-DROPPED", case(spec("ngram", foo=1), version=OLD), case(spec("ngram", foo=1))),
    (
        "K-TYPE",
        case({"num-speculative-tokens": 3, **spec("ngram", 0)}),
        case({**spec("ngram", 0), "num-speculative-tokens": 3}),
    ),
    (
        "VALUE-TYPE",
        case(spec("eagle3", draft_load_config={"load_format": 3}), draft="d-eagle3"),
        case(spec("eagle3", draft_load_config={"load_format": "auto"}), draft="d-eagle3"),
    ),
    ("KEY-INTERNAL", case(spec("ngram", target_model_config={"model": "x"})), case(NGRAM)),
    (
        "KEY-TWICE",
        case({**NGRAM, "num-speculative-tokens": 5}),
        case({"method": "ngram", "num-speculative-tokens": 5}),
    ),
    ("KEY-TENSOR-PARALLEL", case(spec("ngram", tensor_parallel_size=1)), case(NGRAM, tensor_parallel_size=1)),
    ("METHOD-UNKNOWN", case(spec("lookahead")), case(NGRAM)),
    ("METHOD-UNKNOWN", case(spec("dflash"), version=OLD), case(spec("dflash"))),
    ("METHOD-UNKNOWN", case(spec("medusa"), version="0.33.0"), case(spec("medusa"))),
    ("K-TYPE", case(spec("ngram", 0)), case(spec("ngram", "3"))),
    ("K-TYPE", case(spec("ngram", 2.5)), case(spec("ngram", 2.0))),
    ("K-TYPE", case({"method": "ngram", "num_speculative_tokens": None}), case(spec("ngram", True))),
    ("VALUE-TYPE", case(spec("ngram", prompt_lookup_max=0)), case(spec("ngram", prompt_lookup_max=1))),
    ("VALUE-TYPE", case(spec("ngram", rejection_sample_method="strict")), case(NGRAM)),
    (
        "VALUE-TYPE",
        case(spec("eagle3", quantization="bogus"), draft="d-eagle3", version=OLD),
        case(spec("eagle3", quantization="fp8"), draft="d-eagle3", version=OLD),
    ),
    (
        "VALUE-TYPE",
        case(spec("eagle3", attention_backend="x"), draft="d-eagle3"),
        case(spec("eagle3", attention_backend="flash_attn"), draft="d-eagle3"),
    ),
    (
        "VALUE-TYPE",
        case(spec("eagle3", draft_load_config={"foo": 1}), draft="d-eagle3"),
        case(spec("eagle3", draft_load_config={}), draft="d-eagle3"),
    ),
    ("VALUE-LOOSE", case(spec("ngram", "3")), case(spec("ngram", 3))),
    ("VALUE-LOOSE", case(spec("ngram", parallel_drafting="no")), case(spec("ngram", parallel_drafting=False))),
    (
        "TOKEN-TREE",
        case(spec("eagle", **{TREE: "garbage"}), draft="d-eagle", version="0.20.2"),
        case(spec("eagle", **{TREE: "[(0,), (0, 0)]"}), draft="d-eagle", version="0.20.2"),
    ),
    ("METHOD-OMITTED", case(spec(None), draft="d-llama"), case(spec("draft_model"), draft="d-llama")),
    (
        "METHOD-REPLACED",
        case(spec("draft_model"), draft="d-llama", path="/models/eagle3-head"),
        case(spec("draft_model"), draft="d-llama"),
    ),
    (
        "METHOD-REPLACED",
        case(spec("draft_model"), target="mimo", draft="d-mimo"),
        case(spec("mtp"), target="mimo", draft="d-mimo"),
    ),
    (
        "METHOD-REPLACED",
        case(spec("eagle3", model="Qwen3-0.6B"), version="0.25.1"),
        case(spec("eagle3", model="Qwen3-0.6B")),
    ),
    ("METHOD-ALIAS", case(spec("mimo_mtp", 1), target="mimo"), case(spec("mtp", 1), target="mimo")),
    ("METHOD-NONE", case(spec(None), draft="d-eagle", version=OLD), case(spec("eagle"), draft="d-eagle", version=OLD)),
    ("MODEL-MISSING", case(spec("eagle3")), case(spec("eagle3"), draft="d-eagle3")),
    ("MODEL-MISSING", case(spec("custom_class")), case(spec("custom_class", model="my.Proposer"))),
    ("MODEL-UNUSED", case(spec("suffix", model="/x")), case(spec("suffix"))),
    ("MTP-FAMILY", case(spec("mtp", 1)), case(spec("mtp", 1), target="ds3-n1")),
    (
        "MTP-FAMILY",
        case(spec("mtp", 1), target={**KINDS["qwen3.5-text"]}, version="0.25.1"),
        case(spec("mtp", 1), target={**KINDS["qwen3.5-text"]}, version="0.28.0"),
    ),
    (
        "MTP-DEEPSEEK-V41",
        case(spec("mtp", 1), target={**KINDS["ds3-n1"], "model_type": "deepseek_v41"}),
        case(spec("mtp", 1), target="ds3-n1"),
    ),
    ("DRAFT-MODEL-SINCE", case(spec("draft_model"), version="0.14.0"), case(spec("draft_model"), version=OLD)),
    ("MLP-SPECULATOR", case(spec("mlp_speculator"), draft="d-mlp-speculator"), case(NGRAM)),
    ("CUSTOM-CLASS-PATH", case(spec("custom_class", model="/x")), case(spec("custom_class", model="my.Proposer"))),
    ("KEY-UNUSED", case(spec("ngram", max_model_len=99)), case(spec("eagle3", max_model_len=99), draft="d-eagle3")),
    (
        "INDEX-SHARE-METHOD",
        case(spec("ngram", index_share_for_mtp_iteration=True)),
        case(spec("mtp", 1, index_share_for_mtp_iteration=True), target="ds32"),
    ),
    (
        "TOPK-METHOD",
        case(spec("eagle3", dspark_draft_topk=4), draft="d-eagle3"),
        case(spec("ngram", dspark_draft_topk=4)),
    ),
    ("HIDDEN-CONFIG", case(spec("extract_hidden_states", 1, draft_model_config={"hf_config": 5})), case(NGRAM)),
    (
        "METRICS-PLAIN",
        case(per_request_spec_decode_metrics="summary"),
        case(NGRAM, per_request_spec_decode_metrics="none"),
    ),
    ("CPU-SPECULATION", case(NGRAM, flavor=CPU, version=OLD), case(NGRAM, flavor=CPU)),
]


@pytest.mark.parametrize(("rule", "mistake", "sound"), SIDES, ids=[each[0] for each in SIDES])
def test_a_rule_finds_its_mistake_and_nothing_else(rule: str, mistake: Case, sound: Case) -> None:
    """Both sides of each rule."""
    assert rule in broken(mistake)
    assert rule not in broken(sound)
