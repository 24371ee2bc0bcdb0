"""The description of each method: complete, sourced, and consistent with the rest of the operator."""

import json
import pathlib
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from specdec_command.advice.catalogue import (
    METHODS,
    GuessSource,
    MethodAdvice,
    MethodFact,
    PodLoad,
    Workload,
    named,
    release_for,
    runs_on,
)
from specdec_command.advice.recommend import plain
from specdec_command.validation import schema
from specdec_command.validation.check import SCHEMA
from specdec_engine.check import check
from specdec_engine.rule import deployable
from specdec_engine.version import Flavor
from specdec_operator import names
from specdec_operator.api.speculation import Method
from specdec_operator.engine.build import build_of
from specdec_operator.engine.translate import translate
from specdec_operator.guard import policy as guard_methods

_SCHEMA = pathlib.Path(SCHEMA)
SCHEMA: dict[str, Any] = json.loads(_SCHEMA.read_text(encoding="utf-8"))
DEPLOYABLE = [each for each in METHODS.values() if each.releases]


def facts_of(advice: MethodAdvice) -> Iterator[MethodFact]:
    for value in (getattr(advice, name) for name in MethodAdvice.__slots__):
        yield from (each for each in (value if isinstance(value, tuple) else (value,)) if isinstance(each, MethodFact))


def test_every_method_of_the_api_is_explained() -> None:
    """`specdec explain` must know each word that the spec takes."""
    assert set(METHODS) == {each.value for each in Method}


@pytest.mark.parametrize("advice", METHODS.values(), ids=lambda each: each.method)
def test_every_fact_is_a_sentence_with_a_source(advice: MethodAdvice) -> None:
    """A reader can check each fact."""
    found = list(facts_of(advice))
    assert len(found) >= 4
    assert [each for each in found if not each.source or not each.says.endswith(".")] == []


@pytest.mark.parametrize("advice", METHODS.values(), ids=lambda each: each.method)
def test_the_guard_uses_the_documented_alarm(advice: MethodAdvice) -> None:
    """Two tables of one number would drift apart."""
    if advice.method != Method.MLP_SPECULATOR:
        assert advice.alarm == guard_methods.METHODS[Method(advice.method)].acceptance_rate_min


@pytest.mark.parametrize("advice", DEPLOYABLE, ids=lambda each: each.method)
def test_the_example_is_valid(advice: MethodAdvice) -> None:
    """It is what people copy."""
    spec = {"model": {"uri": "pvc://models/target"}, "speculation": plain(advice.example)}
    service = {"apiVersion": names.API_VERSION, "kind": names.KIND, "metadata": {"name": "example"}, "spec": spec}
    assert list(schema.problems(schema.filled(service, SCHEMA), SCHEMA, "")) == []
    assert advice.example["method"] == advice.method


@pytest.mark.parametrize("advice", METHODS.values(), ids=lambda each: each.method)
def test_bands_are_from_worse_to_better(advice: MethodAdvice) -> None:
    """A method either has expectations for every workload, or none at all; more load never means more guesses."""
    bands = [*advice.speedup.values(), *([advice.acceptance] if advice.acceptance else [])]
    assert all(0 < each.low < each.high for each in bands)
    assert set(advice.speedup) in (set(), set(Workload))
    if advice.tokens is not None:
        few, some, many = (advice.tokens[load] for load in PodLoad)
        assert few >= some >= many >= 1


@pytest.mark.parametrize("advice", DEPLOYABLE, ids=lambda each: each.method)
def test_what_needs_a_draft_has_one_in_its_example(advice: MethodAdvice) -> None:
    assert ("draft" in advice.example) == (advice.needs is GuessSource.DRAFT)


@pytest.mark.parametrize(
    ("word", "method"),
    [
        ("eagle3", "eagle3"),
        ("EAGLE3", "eagle3"),
        ("deepseek_mtp", "mtp"),
        ("qwen3-next-mtp", "mtp"),
        ("glm4_moe_mtp", "mtp"),
        ("p-eagle", "eagle3"),
        ("pard", "draft_model"),
        ("mlp", "mlp_speculator"),
    ],
)
def test_words_that_people_use(word: str, method: str) -> None:
    """Old names and trade names lead to the method that runs them."""
    found = named(word)
    assert found is not None
    assert found.method == method


@pytest.mark.parametrize("word", ["", "blockchain", "eagel3", "_", "mtp_", "any_mtp"])
def test_other_words_mean_no_method(word: str) -> None:
    """Nothing is guessed here; the command line suggests."""
    assert named(word) is None


@pytest.mark.parametrize(
    ("method", "accelerator", "version", "runs"),
    [
        ("dflash", "nvidia", "0.19.1", False),
        ("dflash", "nvidia", "0.20.0", True),
        ("medusa", "nvidia", "0.32.1", True),
        ("medusa", "nvidia", "0.33.0", False),
        ("draft_model", "nvidia", "0.14.0", False),
        ("draft_model", "nvidia", "0.15.0", True),
        ("dspark", "ascend", "0.23.0", False),
        ("dspark", "ascend", "0.24.0", True),
        ("dspark", "cpu", "0.32.0", False),
        ("ngram_gpu", "cpu", "0.32.0", False),
        ("ngram", "cpu", "0.19.0", False),
        ("ngram", "cpu", "0.20.0", True),
        ("custom_class", "ascend", "0.25.1", False),
        ("mlp_speculator", "nvidia", "0.20.0", False),
    ],
)
def test_which_engine_runs_what(method: str, accelerator: str, version: str, runs: bool) -> None:
    assert runs_on(METHODS[method], build_of(accelerator, version)) is runs


@pytest.mark.parametrize("advice", DEPLOYABLE, ids=lambda each: each.method)
def test_the_engines_rules_agree(advice: MethodAdvice) -> None:
    """The advice and the check accept the same versions, release by release."""
    spec = {"model": {"uri": "pvc://models/target"}, "speculation": plain(advice.example)}
    for version in (f"0.{minor}.0" for minor in range(11, 34)):
        asked = translate(
            spec | {"engine": {"accelerator": "nvidia", "version": version, "maxNumSeqs": 64}},
            draft_path="/mnt/draft/model",
        ).case
        accepted = deployable(check(replace(asked, packages=frozenset({"arctic_inference"}))))
        assert runs_on(advice, asked.build) is accepted, version


def test_releases_are_named_by_engine() -> None:
    """A method that an engine never had has no release there."""
    assert release_for(METHODS["custom_class"], Flavor.VLLM_ASCEND) is None
    assert str(release_for(METHODS["medusa"], Flavor.VLLM)) == "vllm 0.11 to 0.32 (removed in 0.33)"
