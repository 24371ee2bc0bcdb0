"""Every method on the real engine, out of the runtime image: it drafts, and it changes no answer."""

from typing import Any

import pytest
from lab.engine import cases, runs

pytestmark = pytest.mark.node
GOOD = {"draft_model", "draft_model, heterogeneousVocabulary", "eagle", "eagle3", "mtp", "suffix", "ngram"}
"""Methods whose guesses are worth something on code with the tiny models; the others only have to be harmless."""


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    """What came of every method."""
    return runs.methods()


@pytest.mark.parametrize("method", cases.METHODS, ids=lambda each: each.name)
def test_a_method_answers_like_the_baseline(found: dict[str, Any], method: cases.MethodCase) -> None:
    """30 greedy answers of 96 tokens each, 20 on code and 10 on drift, equal to the baseline's token for token."""
    result = found[method.name]
    assert "compared" in result, result
    assert (result["identical"], result["compared"]) == (30, 30)


@pytest.mark.parametrize("method", [each for each in cases.METHODS if each.drafts], ids=lambda each: each.name)
def test_a_method_drafts_and_its_guesses_are_counted(found: dict[str, Any], method: cases.MethodCase) -> None:
    """By the engine's own counters; where the draft knows code, more than a fifth of its guesses are right."""
    code = found[method.name]["code"]
    assert code["drafts"] > 0
    assert code["accepted"] > 0
    if method.name in GOOD:
        assert code["acceptance"] > 0.2


def test_a_schedule_drafts_fewer_tokens_for_more_requests(found: dict[str, Any]) -> None:
    """4 for one request at a time, fewer for four at once; without a schedule 4 for both."""
    scheduled, fixed = found["draft_model, tokensByBatchSize"], found["draft_model"]
    per_draft = [each["drafted"] / each["drafts"] for each in (scheduled["code"], scheduled["crowd"], fixed["crowd"])]
    assert per_draft[0] == per_draft[2] == 4
    assert per_draft[1] < 3


@pytest.mark.parametrize("method", cases.METHODS, ids=lambda each: each.name)
def test_a_method_answers_a_crowd_as_it_answers_one(found: dict[str, Any], method: cases.MethodCase) -> None:
    """Eight prompts by four clients at once get the answers that they get alone."""
    assert found[method.name]["crowd_alike"] == 8


@pytest.mark.parametrize("method", cases.ELSEWHERE, ids=lambda each: each.name)
def test_what_a_cpu_cannot_run_does_not_start_at_all(found: dict[str, Any], method: cases.MethodCase) -> None:
    """It ends with a code and a reason, rather than serving and dying at the first request."""
    result = found[method.name]
    assert result["exit"] not in (0, None), result
    assert any("Error" in line or "refused" in line for line in result["log"])
