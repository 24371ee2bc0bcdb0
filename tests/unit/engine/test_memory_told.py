"""The facts that pods report about their models: read without trust, kept small, and equivalent to the whole config."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.engine import memory_models as models
from tests.wire.pods import told

from specdec_engine.memory.draft_size import draft_facts
from specdec_engine.memory.facts import MOST_CONFIG, PodFact, Role, kept, known_of, read_page, taken_in, used
from specdec_engine.memory.inputs import AUTO, COUNTED
from specdec_engine.memory.model_size import model_facts
from specdec_engine.memory.plan import plan

CONFIGS = {name: value for name, value in vars(models).items() if name.isupper() and isinstance(value, dict)}
MORE: dict[str, models.Config] = {
    "awq": models.LLAMA_8B | {"quantization_config": {"quant_method": "awq", "bits": 4}},
    "fp8": models.LLAMA_8B | {"quantization_config": {"quant_method": "fp8"}},
    "groups": models.LLAMA_8B | {"quantization_config": {"config_groups": {"g": {"weights": {"num_bits": 4}}}}},
    "mxfp4": models.LLAMA_8B | {"quantization_config": {"quant_method": "mxfp4"}, "num_experts": 8},
    "windows": models.LLAMA_8B | {"layer_types": ["sliding_attention", "full_attention"] * 16, "sliding_window": 512},
    "states": models.LLAMA_8B | {"layer_types": ["linear_attention"] * 24 + ["full_attention"] * 8},
    "pattern": models.LLAMA_8B | {"hybrid_override_pattern": "M-M*" * 8},
    "nested": {"model_type": "vlm", "text_config": models.LLAMA_8B, "vision_config": {"hidden_size": 9}},
    "f32": models.LLAMA_8B | {"dtype": "float32"},
    "aux": models.EAGLE3_8B | {"eagle_config": {"eagle_aux_hidden_state_layer_ids": [1, 2], "use": True}},
    "empty": {},
}
METHODS = ("draft_model", "eagle", "eagle3", "mtp", "medusa", "dflash", "ngram")


@pytest.mark.parametrize("config", [*CONFIGS.values(), *MORE.values()], ids=[*CONFIGS, *MORE])
def test_what_is_kept_is_worth_the_whole(config: models.Config) -> None:
    short = json.loads(kept(config) or "null")
    assert short is not None
    for size in (None, 10**9):
        assert model_facts(short, weight_bytes=size) == model_facts(config, weight_bytes=size)
        for method in METHODS:
            whole = draft_facts(method, target=models.LLAMA_8B, draft=config, weight_bytes=size, tokens=3)
            assert draft_facts(method, target=models.LLAMA_8B, draft=short, weight_bytes=size, tokens=3) == whole
    assert draft_facts("mtp", target=short) == draft_facts("mtp", target=config)


def test_what_is_kept_is_small() -> None:
    """A list of a thousand words is left out with its config, which decides nothing alone."""
    assert kept(models.LLAMA_8B | {"moe_layer_freq": [1] * 5000}) == ""
    assert all(len(kept(each)) < MOST_CONFIG / 2 for each in CONFIGS.values())


def test_a_page_is_read() -> None:
    """Bytes of both models and of the device, and the configs as the pod reported them."""
    page = read_page(told(device=1000, target=(64, {"a": 1}), draft=(32, {})))
    assert page.bytes == {Role.TARGET: 64, Role.DRAFT: 32, Role.DEVICE: 1000}
    assert page.configs == {Role.TARGET: {"a": 1}, Role.DRAFT: {}}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@given(st.binary(max_size=40) | JSON.map(lambda each: json.dumps(each).encode()))
def test_an_invalid_page_has_no_facts_and_never_fails(body: bytes) -> None:
    """A tenant's pod may return anything."""
    page = read_page(body)
    assert set(page.configs) <= set(page.bytes)


@given(config=JSON, size=JSON)
def test_a_config_of_any_values_can_be_planned_with(config: Any, size: Any) -> None:
    """Any value in the place of a size causes no error."""
    page = read_page(json.dumps({"models": {"target": {"bytes": size, "config": {"hidden_size": config}}}}).encode())
    facts = taken_in((), page, {Role.TARGET: "a"})
    for each in facts:
        model_facts(each.document, weight_bytes=each.bytes)
    assert len(facts) == (type(size) is int and 0 < size <= 1 << 50)


def test_what_is_known_stays_and_what_is_about_something_else_goes() -> None:
    """A pod that reports another size of the same artifact changes nothing. Otherwise the flags
    would change with each answer.
    """
    of = {Role.TARGET: "a", Role.DRAFT: "b"}
    first = used(taken_in((), read_page(told(target=(64, {}))), of))
    both = taken_in(first, read_page(told(device=9, target=(65, {}), draft=(32, {}))), of)
    assert both == (PodFact(role=Role.DRAFT, of="b", bytes=32, config="{}"), first[0])
    assert taken_in(both, read_page(b""), {Role.TARGET: "other", Role.DRAFT: "b"}) == both[:1]


@pytest.mark.parametrize("reserve", [AUTO, COUNTED])
def test_facts_are_planned_with_as_configs_are(reserve: Any) -> None:
    """The same plan as with the models' folders. With flags that run already, the plan that these flags mean."""
    page = read_page(told(target=(16 * 10**9, models.LLAMA_8B), draft=(8 * 10**8, models.EAGLE3_8B)))
    known = known_of(taken_in((), page, {Role.TARGET: "a", Role.DRAFT: "b"}))
    asked: Any = {"gib": 24, "max_model_len": 4096, "reserve": reserve, "method": "eagle3"}
    sizes = {"target_bytes": 16 * 10**9, "draft_bytes": 8 * 10**8}
    whole = plan(models.ask(target=models.LLAMA_8B, draft=models.EAGLE3_8B, **sizes, **asked))
    made = plan(models.ask(target=None, draft=None, known=known, **asked))
    assert (made.utilization, made.fits, made.draft_weights) == (whole.utilization, True, whole.draft_weights)
    assert made.kv_tokens == whole.kv_tokens
    settled = plan(models.ask(target=None, draft=None, known=known, settled=0.8, **asked))
    assert settled.utilization == 0.8
    assert settled.kv_tokens is not None
    assert made.kv_tokens is not None
    assert settled.kv_tokens < made.kv_tokens
    assert settled.baseline_kv_tokens == made.baseline_kv_tokens
