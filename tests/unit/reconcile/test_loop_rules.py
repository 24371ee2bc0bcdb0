"""The loop and the engine's rules: what is refused, what is warned of, and what runs already."""

from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from tests.unit.builders import DRAFT
from tests.unit.stage import Stage, busy, is_speculative, watching

from specdec_engine.case import Case
from specdec_engine.rule import Finding, Rule, Severity
from specdec_operator.guard import judge
from specdec_operator.guard.best_tokens import TokensAtLoad
from specdec_operator.render import plan as planning

NEWER = Rule(id="NEWER", severity=Severity.REFUSED, says="A rule of a newer operator.", source="this test")


def newer_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on every speculation breaks a rule."""

    def check(case: object) -> tuple[Finding, ...]:
        return (Finding(rule=NEWER, field="speculative_config.method", value="draft_model", message="no more"),)

    monkeypatch.setattr(planning, "check", check)


async def test_what_a_rule_refuses_is_not_applied() -> None:
    """The message has field, value, way out and rule."""
    stage = Stage(speculation=DRAFT, engine={"accelerator": "nvidia", "version": "0.14.0"})
    await stage.turn()
    assert stage.cluster.child == {}
    assert stage.conditions()["Stalled"]["message"].startswith("spec.speculation.method: 'draft_model': ")
    assert stage.conditions()["Stalled"]["message"].endswith("(rule DRAFT-MODEL-SINCE)")


async def test_a_newer_rule_does_not_stall_what_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its pods have shown that the engine takes it, and the guard goes on watching them."""
    stage, engine = await watching()
    newer_rule(monkeypatch)
    stage.restart()
    await stage.run(20)
    assert "Stalled" not in stage.conditions()
    engine.acceptance = 0.0
    await stage.until("Responding")
    assert not is_speculative(stage.cluster.child)


async def test_a_newer_rule_refuses_what_does_not_run_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another K is another rendering."""
    stage, _ = await watching()
    newer_rule(monkeypatch)
    stage.sis["speculation"] = DRAFT | {"tokens": 2}
    await stage.turn()
    assert "(rule NEWER)" in stage.conditions()["Stalled"]["message"]


async def test_fewer_tokens_that_the_engine_does_not_take_are_not_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some drafts only take multiples: K=2 would have passed, K=1 is what can be served."""

    def check(case: Case) -> tuple[Finding, ...]:
        odd = (case.speculation or {}).get("num_speculative_tokens") != 2
        return () if odd else (Finding(rule=NEWER, field="num_speculative_tokens", value=2, message="not 2"),)

    monkeypatch.setattr(planning, "check", check)
    stage, engine = await watching(
        busy(falls=0.2),
        guard={"response": ["ReduceTokens", "RollBack"], "regretBudget": 0.1},
    )
    engine.acceptance = 0.25
    await stage.until("Responding")
    assert stage.flags()["num_speculative_tokens"] == 1
    assert stage.cluster.status["guard"]["recommendation"]["tokens"] == 1


@pytest.mark.parametrize(("refused", "more"), [(None, 5), (5, 6)])
async def test_more_tokens_are_recommended_as_far_as_the_engine_takes_them(
    monkeypatch: pytest.MonkeyPatch, refused: int | None, more: int
) -> None:
    """All of four tokens are accepted: five would pay, or six where a rule refuses five. The flags stay as they are."""

    def check(case: Case) -> tuple[Finding, ...]:
        refuses = (case.speculation or {}).get("num_speculative_tokens") == refused
        return (Finding(rule=NEWER, field="num_speculative_tokens", value=5, message="not 5"),) if refuses else ()

    monkeypatch.setattr(planning, "check", check)
    stage, _ = await watching(busy(acceptance=1.0))
    await stage.run(20.0)
    assert stage.cluster.status["guard"]["recommendation"]["tokens"] == more
    assert stage.flags()["num_speculative_tokens"] == 4


@pytest.mark.parametrize(
    ("severity", "home", "taken"),
    [(None, 4, True), (None, 3, False), *((each, 4, False) for each in Severity)],
)
async def test_the_best_k_at_each_load_is_recommended_if_no_rule_is_against_it(
    monkeypatch: pytest.MonkeyPatch, severity: Severity | None, home: int, taken: bool
) -> None:
    """Two tokens from five running requests on, if the pods draft what the flags ask for. The flags stay."""

    def check(case: Case) -> tuple[Finding, ...]:
        if severity is None or "num_speculative_tokens_per_batch_size" not in (case.speculation or {}):
            return ()
        return (Finding(rule=replace(NEWER, severity=severity), field="schedule", value="", message="none"),)

    at = partial(TokensAtLoad, home=home, speed=1.25, low=1.1, dips=31)
    monkeypatch.setattr(judge, "fastest", lambda span: (at(batch=4, tokens=4), at(batch=8, tokens=2)))
    monkeypatch.setattr(planning, "check", check)
    stage, _ = await watching(busy())
    await stage.run(20.0)
    found = stage.cluster.status["guard"].get("recommendation", {})
    assert found.get("tokensByBatchSize") == ([{"upTo": 4, "tokens": 4}, {"tokens": 2}] if taken else None)
    assert ("with up to 8 running requests 2 tokens are 1.25 times as fast as 4" in found.get("message", "")) is taken
    assert stage.flags()["num_speculative_tokens"] == 4


@pytest.mark.parametrize(
    "speculation",
    [
        {"method": "medusa", "tokens": 4, "draft": {"uri": "pvc://models/draft"}},
        {"method": "suffix"},
    ],
    ids=["trained for its heads", "K is left to the engine"],
)
async def test_more_tokens_are_not_recommended_where_the_draft_decides(speculation: dict[str, Any]) -> None:
    """All of four tokens are accepted, and that is all there can be."""
    stage, _ = await watching(busy(acceptance=1.0), speculation=speculation)
    await stage.run(20.0)
    assert stage.cluster.status["reason"] == "Accepted"
    assert "recommendation" not in stage.cluster.status["guard"]


async def test_a_warning_is_reported_once() -> None:
    """In a condition while it holds, and in one Event."""
    stage = Stage(
        speculation={"method": "ngram", "tokens": 3}, engine={"accelerator": "nvidia", "pipelineParallelSize": 2}
    )
    for _ in range(3):
        await stage.turn()
        stage.now += 1
    assert "(PP-RISK)" in stage.conditions()["Warned"]["message"]
    assert [each.reason for each in stage.events].count("Warned") == 1
    stage.sis |= {"engine": {"accelerator": "nvidia"}, "generation": 2}
    await stage.turn()
    assert "Warned" not in stage.conditions()
