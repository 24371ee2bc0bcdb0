"""The loop with `guard.tokens: Adapt`: engines with a step clock, whose draft pays with one request and not with eight.

The stage's kubelet and engine are stand-ins that follow each setting in the same moment.
"""

import json
from dataclasses import dataclass, field
from typing import Any

import pytest
from tests.unit.builders import DRAFT, Body
from tests.unit.reconcile.test_loop_dial_first import WINDOW, Dialled, K
from tests.wire.pods import EngineStandIn

from specdec_engine import metrics
from specdec_operator.names import DIAL_ANNOTATION, HOLD_ANNOTATION

ROWS = [{"upTo": 4, "tokens": 4}, {"tokens": 0}]
LOADS = {1: 0.5, 8: 0.25}
"""By load, the seconds of a step that drafts nothing / of one that drafts four."""
LENGTH = 3.2


@dataclass(kw_only=True)
class ClockedEngine(EngineStandIn):
    """An engine whose time is of both loads, and whose page has its step clock. rows: those that it follows."""

    rows: list[dict[str, int]] = field(default_factory=list)
    counted: dict[str, float] = field(default_factory=dict)

    def at(self, load: int) -> int:
        """What it drafts at a load."""
        return next((each["tokens"] for each in self.rows if load <= each.get("upTo", load)), K)

    def spend(self, seconds: float) -> None:
        """Half of the time is of each load."""
        paused = all(self.at(load) == 0 for load in LOADS)
        self.drafting = 0 if paused else self.drafting
        super().spend(seconds)
        for load, ratio in LOADS.items():
            tokens = self.at(load)
            kind = f'tokens="{tokens}",batch="{load}"'
            self._count(f'{metrics.STEP_SECONDS}{{{kind},prompt="false"}}', seconds / 2)
            self._count(f'{metrics.STEP_REQUESTS}{{{kind},prompt="false"}}', 200 * seconds)
            self._count(f'{metrics.STEP_TOKENS}{{{kind},prompt="false"}}', 200 * seconds * (LENGTH if tokens else 1))
            self._count(f'{metrics.STEP_ACCEPTED}{{{kind},prompt="false",position="0"}}', 100 * seconds * bool(tokens))
            for name, each in ((metrics.DIPS, 1), (metrics.DIP_RATIOS, ratio), (metrics.DIP_SQUARES, ratio * ratio)):
                self._count(f'{name}{{{kind},dip="0"}}', seconds * each * bool(tokens))

    def _count(self, name: str, value: float) -> None:
        self.counted[name] = self.counted.get(name, 0.0) + value

    def page(self) -> str:
        """With the step clock."""
        return super().page() + "".join(f"{name} {value}\n" for name, value in self.counted.items())


class Adapting(Dialled):
    """A stage whose engines follow rows. older: whether their runtime does not know them."""

    older = False

    async def _obeyed(self, manifest: Body, name: str, text: str | None) -> None:
        await super()._obeyed(manifest, name, text)
        if not self.older:
            for engine in self.engines.values():
                engine.rows = json.loads(text).get("byBatchSize", []) if text else []

    async def dial(self, namespace: str, address: str, *, port: int = 8080) -> bytes | None:
        """With the rows."""
        page = json.loads(await super().dial(namespace, address, port=port) or b"{}")
        rows = next(iter(self.engines.values())).rows
        return json.dumps(page | ({"byBatchSize": rows} if rows else {})).encode()

    @property
    def setting(self) -> dict[str, Any]:
        """The newest setting."""
        found: dict[str, Any] = json.loads(self.cluster.settings[-1][1] or "{}")
        return found


async def started(*, older: bool = False, **guard: Any) -> Adapting:
    """A watched service with its first evidence."""
    stage = Adapting(speculation=DRAFT, guard={"tokens": "Adapt"} | guard)
    stage.older = older
    await stage.turn()
    stage.roll_out(ClockedEngine(tokens_per_second=2000.0))
    await stage.until("Watching")
    return stage


async def until_rows(stage: Adapting, seconds: float = 1800.0) -> None:
    """Turns until rows are set."""
    begun = stage.now
    while not stage.cluster.status["guard"].get("adapted"):
        await stage.run(WINDOW)
        assert stage.now - begun < seconds, stage.cluster.status["guard"]


async def test_the_running_pods_draft_by_load_and_the_status_has_what_they_answer() -> None:
    """No pod is replaced. Windows are judged on, and what is of one number of tokens only is not shown."""
    stage = await started()
    before = stage.revision
    await until_rows(stage)
    await stage.run(4 * WINDOW)
    status, asked = stage.cluster.status, stage.setting
    assert (asked["tokens"], asked["byBatchSize"], asked["decision"]) == (K, ROWS, "operator/Adapted-4")
    assert status["dial"].items() >= {"tokens": K, "tokensByBatchSize": ROWS, "inForce": 1, "pods": 1}.items()
    assert status["serving"]["tokens"] == K
    assert "drafted" not in status["serving"]
    assert (status["phase"], status["guard"]["verdict"]) == ("Watching", "Pass")
    assert (status["acceptance"]["rate"], status["acceptance"]["perPosition"]) == (0.8, [])
    assert status["guard"]["adapted"]["tokensByBatchSize"] == ROWS
    condition = stage.conditions()["RolledBack"]
    assert (condition["status"], condition["reason"]) == ("False", "TokensAdapted")
    (event,) = [each for each in stage.events if each.reason == "TokensAdapted"]
    assert event.message.startswith("draft tokens: 4 up to 4 running requests, then none: with up to 8 running req")
    assert "none is 1.25 times as fast as 4 (at least 1." in event.message
    assert (stage.revision, len(stage.cluster.settings)) == (before, 1)


async def test_rows_outlive_the_operator() -> None:
    """They are in the status, and evidence that a restart has lost changes nothing."""
    stage = await started()
    await until_rows(stage)
    stage.restart()
    await stage.run(6 * WINDOW)
    assert stage.cluster.status["dial"]["tokensByBatchSize"] == ROWS
    assert len(stage.cluster.settings) == 1


@pytest.mark.parametrize("guard", [{"tokens": "Recommend"}, {"mode": "Observe"}, {"dial": {"mode": "Off"}}])
async def test_without_adapt_nothing_is_set(guard: dict[str, Any]) -> None:
    """Recommend is the default; Observe changes nothing."""
    stage = await started(**guard)
    await stage.run(600)
    assert "adapted" not in stage.cluster.status["guard"]
    assert not stage.cluster.settings


async def test_a_users_own_setting_ends_rows_and_goes_before_them() -> None:
    """After it, the evidence begins again."""
    stage = await started()
    await until_rows(stage)
    stage.sis["annotations"] = {DIAL_ANNOTATION: "2"}
    await stage.run(3 * WINDOW)
    assert (stage.setting["tokens"], "byBatchSize" in stage.setting) == (2, False)
    assert "adapted" not in stage.cluster.status["guard"]
    assert stage.cluster.status["serving"]["drafted"] == 2


async def test_an_older_runtime_drafts_the_same_at_each_load_and_rows_end() -> None:
    """It leaves alone what it does not know, and its answer shows that."""
    stage = await started(older=True)
    await until_rows(stage)
    await stage.run(60)
    guard = stage.cluster.status["guard"]
    assert (guard["adapted"]["reason"], "tokensByBatchSize" in guard["adapted"]) == ("NotFollowed", False)
    assert stage.cluster.settings[-1][1] is None
    assert [each.warning for each in stage.events if each.reason == "TokensAdapted"] == [False, True]


async def test_a_hold_does_not_hide_the_loss_that_it_keeps_adapt_from_answering(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The status shows what the guard would do."""
    monkeypatch.setitem(LOADS, 1, 0.1)
    monkeypatch.setitem(LOADS, 8, 0.1)
    stage = await started(tokens="Adapt")
    stage.sis["annotations"] = {HOLD_ANNOTATION: "1"}
    await stage.run(900)
    guard = stage.cluster.status["guard"]
    assert (guard["verdict"], guard["reason"], guard["would"]["action"]) == ("Fail", "SlowerThanPlain", "RollBack")


@pytest.mark.parametrize(("tokens", "phase"), [("Adapt", "Watching"), ("Recommend", "Dialled or RolledBack")])
async def test_a_loss_over_all_loads_is_answered_by_rows(
    tokens: str, phase: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without Adapt, the same dips end speculation."""
    monkeypatch.setitem(LOADS, 1, 0.4)
    monkeypatch.setitem(LOADS, 8, 0.1)
    stage = await started(tokens=tokens)
    await stage.run(900)
    guard, adapts = stage.cluster.status["guard"], tokens == "Adapt"
    assert (stage.cluster.status["phase"] == phase, "rollback" in guard) == (adapts, not adapts)
    assert guard.get("adapted", {}).get("tokensByBatchSize") == (ROWS if adapts else None)
