"""The models: whether they open, and whether they fit together. Each rule on both sides."""

from typing import Any

import pytest
from tests.unit.engine.cases import CPU, KINDS, NPU, broken, case, spec

from specdec_engine.case import Case

EAGLE3 = spec("eagle3")
MODEL = spec("draft_model")
OLD = "0.15.1"
HIDDEN = spec("extract_hidden_states", 1, draft_model_config={"hf_config": {"eagle_aux_hidden_state_layer_ids": [1]}})
STORE = {"kv_connector": "ExampleHiddenStatesConnector", "kv_role": "kv_producer"}
LLAMA = KINDS["llama"]
PLAIN_HEAD = {key: value for key, value in KINDS["d-eagle3"].items() if key != "eagle_aux_hidden_state_layer_ids"}
DFLASH = {key: value for key, value in KINDS["d-dflash"].items() if key not in ("block_size", "dflash_config")}
ON_NPUS: dict[str, Any] = {"flavor": NPU, "version": "0.23.0"}

SIDES: list[tuple[str, Case, Case]] = [
    ("MODEL-FOLDER", case(EAGLE3, draft="d-badjson"), case(EAGLE3, draft="d-eagle3")),
    ("MODEL-TYPE", case(MODEL, draft="d-unknown-type"), case(MODEL, draft="d-llama")),
    ("MODEL-TYPE", case(MODEL, draft="d-emptyjson"), case(spec("medusa"), draft="d-medusa-old")),
    ("MODEL-TYPE", case(target="glm4moelite", version=OLD), case(target="glm4moelite")),
    ("ARCH-UNKNOWN", case(MODEL, draft="d-unknown-arch"), case(MODEL, draft="d-noarch")),
    ("ARCH-UNKNOWN", case(spec("eagle"), draft="d-eagle-qwen2"), case(spec("eagle"), draft="d-eagle")),
    (
        "ARCH-UNKNOWN",
        case(spec("mtp", 1), target="qwen3.5-text", version="0.25.1"),
        case(target="qwen3.5-text", version="0.25.1"),
    ),
    ("ARCH-UNKNOWN", case(target={**LLAMA, "architectures": ["Nope"]}), case(target={**LLAMA, "auto_map": {}})),
    (
        "ARCH-HEAD",
        case(spec("eagle"), draft="d-eagle-qwen2", version="0.11.2"),
        case(spec("eagle"), draft="d-eagle", version="0.11.2"),
    ),
    ("MEDUSA-DRAFT", case(spec("medusa"), draft="d-llava"), case(spec("medusa"), draft="d-medusa")),
    ("DRAFT-EMBEDDING", case(MODEL, draft="d-bert"), case(MODEL, draft="d-bert", version="0.20.2")),
    ("DRAFT-EMBEDS", case(MODEL, draft="d-bert", version="0.20.2"), case(MODEL, draft="d-llama", version="0.20.2")),
    ("QUANT-UNKNOWN", case(spec("eagle3", quantization="x"), draft="d-eagle3"), case(spec("ngram", quantization="x"))),
    ("QUANT-UNKNOWN", case(quantization="x"), case(quantization="fp8")),
    ("QUANT-UNKNOWN", case(quantization="ascend"), case(quantization="ascend", **ON_NPUS)),
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
        "VOCAB-EQUAL",
        case(MODEL, draft="d-llama-v2050"),
        case(spec("draft_model", use_heterogeneous_vocab=True), draft="d-llama-v2050"),
    ),
    ("HETERO-METHOD", case(spec("ngram", use_heterogeneous_vocab=True)), case(spec("ngram"))),
    (
        "HETERO-GREEDY",
        case(spec("draft_model", use_heterogeneous_vocab=True, draft_sample_method="probabilistic"), draft="d-llama"),
        case(spec("draft_model", use_heterogeneous_vocab=True), draft="d-llama"),
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
        case(spec("medusa"), target="llava", draft="d-medusa"),
        case(spec("medusa"), target="llava", draft="d-medusa", version="0.20.2"),
    ),
    (
        "MEDUSA-TARGET",
        case(spec("medusa"), target="qwen2.5-vl", draft="d-medusa"),
        case(spec("medusa"), target="qwen2", draft="d-medusa"),
    ),
    ("HEAD-VOCAB", case(spec("eagle"), draft="d-eagle-v2050"), case(spec("eagle"), draft="d-eagle")),
    (
        "HIDDEN-TARGET",
        case(EAGLE3, target="gemma2", draft="d-eagle3", version="0.20.2"),
        case(EAGLE3, target="gemma2", draft="d-eagle3"),
    ),
    ("HIDDEN-TARGET", case(EAGLE3, target="ds32", version=OLD), case(EAGLE3, target="ds32", version="0.20.2")),
    ("HIDDEN-INTERFACE", case(EAGLE3, target="opt", draft="d-eagle3"), case(EAGLE3, draft="d-eagle3")),
    ("HEAD-HIDDEN", case(spec("eagle"), draft="d-eagle-h128"), case(spec("eagle"), draft="d-eagle")),
    ("HEAD-LAYERS", case(EAGLE3, draft="d-eagle3-badaux"), case(EAGLE3, draft="d-eagle3")),
    (
        "HEAD-LAYERS",
        case(EAGLE3, draft={**PLAIN_HEAD, "eagle_config": {"eagle_aux_hidden_state_layer_ids": [1, 2, 99]}}),
        case(EAGLE3, draft={**PLAIN_HEAD, "eagle_config": {"eagle_aux_hidden_state_layer_ids": [1, 2, 3]}}),
    ),
    (
        "HEAD-LAYERS",
        case(spec("dflash"), target="qwen3", draft={**DFLASH, "dflash_config": {"target_layer_ids": [1, 98]}}),
        case(spec("dflash"), target="qwen3", draft={**DFLASH, "dflash_config": {"target_layer_ids": [1, 2]}}),
    ),
    (
        "HEAD-LAYERS-FEW",
        case(EAGLE3, draft={**PLAIN_HEAD, "eagle_aux_hidden_state_layer_ids": [1, 2, 2]}),
        case(EAGLE3, draft={**PLAIN_HEAD, "eagle_config": {"use_aux_hidden_state": False}}),
    ),
    (
        "HEAD-LAYERS-FEW",
        case(EAGLE3, target={**LLAMA, "num_hidden_layers": 2}, draft=PLAIN_HEAD),
        case(EAGLE3, target={**LLAMA, "num_hidden_layers": 3}, draft=PLAIN_HEAD),
    ),
    (
        "HEAD-AS-MODEL",
        case(MODEL, draft={**KINDS["d-llama"], "architectures": ["Gemma4DSparkModel"]}, version="0.25.1"),
        case(MODEL, draft={**KINDS["d-llama"], "architectures": ["Eagle2_5_VLForConditionalGeneration"]}),
    ),
    (
        "K-BLOCK",
        case(spec("dflash", 8), target="qwen3", draft={**DFLASH, "dflash_config": {"block_size": 8}}),
        case(spec("dflash", 7), target="qwen3", draft={**DFLASH, "dflash_config": {"block_size": 8}}),
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
    ("HIDDEN-LAYERS", case(spec("extract_hidden_states", 1)), case(HIDDEN)),
    (
        "HIDDEN-LAYERS",
        case({**HIDDEN, "draft_model_config": {"hf_config": {"eagle_aux_hidden_state_layer_ids": [99]}}}),
        case({**HIDDEN, "draft_model_config": {"hf_config": {"eagle_aux_hidden_state_layer_ids": [4]}}}),
    ),
    ("POOLING", case(MODEL, draft="d-llama", runner="pooling"), case(runner="pooling")),
    (
        "ENCODER-PRODUCER",
        case(ec_transfer_config={"ec_role": "ec_producer"}),
        case(target="llava", ec_transfer_config={"ec_role": "ec_producer"}),
    ),
    ("CPU-MLA", case(target="ds3-n1", flavor=CPU, version="0.25.1"), case(target="ds3-n1", flavor=CPU)),
]


@pytest.mark.parametrize(("rule", "mistake", "sound"), SIDES, ids=[each[0] for each in SIDES])
def test_a_rule_finds_its_mistake_and_nothing_else(rule: str, mistake: Case, sound: Case) -> None:
    """Both sides of each rule."""
    assert rule in broken(mistake)
    assert rule not in broken(sound)


@pytest.mark.parametrize("method", ["eagle", "eagle3", "dflash", "medusa", "draft_model", "mtp", "dspark"])
def test_what_is_not_known_is_not_refused(method: str) -> None:
    """Rules about models that were not read have no findings."""
    asked = spec(method, 1, model="/models/draft")
    assert not {
        each for each in broken(case(asked, target=None)) if each.startswith(("MODEL", "ARCH", "VOCAB", "HEAD"))
    }
