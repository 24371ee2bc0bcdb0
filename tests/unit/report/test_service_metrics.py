"""The operator's own metrics: what is shown, what is taken away again, and that nothing grows without bound."""

from collections.abc import Iterator
from typing import Any

import pytest
from prometheus_client import REGISTRY
from tests.unit.builders import (
    IDLE,
    NAMESPACE,
    found,
    judged,
    limits,
    make_comparison,
    make_dry_run,
    make_evidence,
    make_gain,
    make_good,
    make_rollback,
    make_state,
)
from tests.unit.stage import KEY, Stage, rolled_back, watching
from tests.wire.pods import EngineStandIn

from specdec_operator import metrics
from specdec_operator.guard.decisions import Lowering, Target
from specdec_operator.guard.dial import DialAnswer, DialRequest, DialView
from specdec_operator.guard.state import Phase
from specdec_operator.guard.verdict import Outcome, Reason, Verdict
from specdec_operator.report import service_metrics
from specdec_operator.report.service_numbers import ROLLBACK_REASONS

OURS = (NAMESPACE, "measured")
NEIGHBOUR = (NAMESPACE, "neighbour")
SILENT = 2


def series(key: tuple[str, str] = OURS) -> dict[str, float]:
    """What is shown of one sis: its name with its other labels, and its value."""
    shown: dict[str, float] = {}
    for sample in (each for family in REGISTRY.collect() for each in family.samples):
        labels = dict(sample.labels)
        if (labels.pop("namespace", None), labels.pop("name", None)) == key:
            shown[" ".join([sample.name, *labels.values()])] = sample.value
    return shown


def value(name: str, **labels: str) -> float:
    """One series of the process; 0 where it is not there."""
    return REGISTRY.get_sample_value(name, labels) or 0.0


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    """The registry is the process's own: each test leaves it as it was."""
    yield
    for key in (OURS, NEIGHBOUR, KEY):
        service_metrics.forget(key)


def test_a_window_is_shown_with_its_numbers() -> None:
    """Acceptance, length, each position, speed with its interval, the verdict, and when that was proved."""
    passed = Verdict(outcome=Outcome.PASS, reason=Reason.ACCEPTED, message="", at=100.0)
    window = judged(passed, comparison=make_comparison(1.5), gain=make_gain(0.875, low=0.5))
    service_metrics.observe(OURS, found(make_state(), judged=window), {}, silent=SILENT, stalled=False)
    shown = series()
    assert shown["specdec_acceptance_rate"] == pytest.approx(0.8)
    assert shown["specdec_acceptance_length"] == pytest.approx(4.2)
    assert [shown[f"specdec_position_acceptance_rate {each}"] for each in range(4)] == pytest.approx([0.8] * 4)
    assert [shown[f"specdec_speedup{end}"] for end in ("_low", "", "_high")] == pytest.approx([1.4, 1.5, 1.6])
    assert (shown["specdec_gain_low"], shown["specdec_gain_high"], shown["specdec_dips"]) == (0.5, 0.875, 40)
    assert shown["specdec_verdict Pass Accepted"] == 1
    assert shown["specdec_evidence_timestamp_seconds"] == 100.0
    assert shown["specdec_pods_without_metrics"] == 2
    assert (shown["specdec_tokens_asked"], shown["specdec_tokens_served"]) == (4, 4)
    assert (shown["specdec_acceptance_rate_threshold"], shown["specdec_speculating"]) == (0.3, 1)
    assert shown["specdec_service_info draft_model cpu Enforce"] == 1


@pytest.mark.parametrize(("answers", "served"), [({"a": 0, "b": 0}, 0), ({"a": 0, "b": 4}, None), ({"a": 0}, None)])
def test_the_served_tokens_are_those_that_the_pods_report(answers: dict[str, int], served: int | None) -> None:
    """While the dial is set; none while they differ, or one does not report it."""
    request = DialRequest(tokens=0, reason="Requested", message="")
    told = {pod: DialAnswer(offered=True, why="", tokens=tokens, started=4) for pod, tokens in answers.items()}
    view = DialView(request=request, pods=("a", "b"), answers=told)
    service_metrics.observe(OURS, found(make_state(), dial=view), {}, silent=SILENT, stalled=False)
    assert series().get("specdec_tokens_served") == served


def test_one_phase_and_one_verdict_are_true_at_a_time() -> None:
    """The old word goes when the new one is there."""
    for phase, verdict in ((Phase.WATCHING, Outcome.PASS), (Phase.RESPONDING, Outcome.FAIL)):
        window = judged(Verdict(outcome=verdict, reason=Reason.ACCEPTED, message=""))
        service_metrics.observe(OURS, found(make_state(phase), judged=window), {}, silent=SILENT, stalled=False)
    shown = series()
    assert [each for each in shown if each.startswith("specdec_verdict")] == ["specdec_verdict Fail Accepted"]
    assert [each for each in shown if each.startswith("specdec_phase") and shown[each]] == ["specdec_phase Responding"]


def test_an_inconclusive_window_keeps_the_time_of_the_last_evidence() -> None:
    """Its age is that of what is known, not of the last look."""
    proof = judged(Verdict(outcome=Outcome.PASS, reason=Reason.ACCEPTED, message="", at=100.0))
    idle = judged(IDLE, make_evidence(0))
    for window in (proof, idle):
        service_metrics.observe(OURS, found(make_state(), judged=window), {}, silent=SILENT, stalled=False)
    shown = series()
    assert shown["specdec_evidence_timestamp_seconds"] == 100.0
    assert "specdec_acceptance_rate" not in shown, "nothing was drafted, so there is none"
    assert "specdec_position_acceptance_rate 0" not in shown
    assert not {"specdec_gain_low", "specdec_gain_high", "specdec_dips"} & shown.keys(), "too few dips"


WINDOW_NAMES = (
    *("specdec_acceptance", "specdec_position", "specdec_speedup", "specdec_verdict", "specdec_evidence"),
    *("specdec_tokens_per", "specdec_time_per", "specdec_plain_time", "specdec_drafted"),
)


async def test_a_rollback_takes_the_numbers_of_the_draft_away() -> None:
    """Earlier pods show nothing about the current ones. The rollback and its reason stay."""
    stage, engine = await watching()
    await stage.run(11)
    assert series(KEY)["specdec_acceptance_rate"] == pytest.approx(0.8)
    engine.acceptance = 0.0
    await stage.until("Responding")
    assert series(KEY)["specdec_acceptance_rate"] < 0.3, "its pods still serve"
    stage.roll_out(EngineStandIn(speculative=False))
    await stage.until("RolledBack")
    await stage.turn()
    shown = series(KEY)
    assert [each for each in shown if each.startswith(WINDOW_NAMES) and "threshold" not in each] == []
    assert (shown["specdec_rolled_back AcceptanceRateLow Baseline"], shown["specdec_rollbacks"]) == (1, 1)


async def test_a_service_without_speculation_has_a_speed_and_no_verdict() -> None:
    """Its windows prove nothing about a draft: they would look like a service that is never conclusive."""
    stage = await rolled_back()
    await stage.run(30)
    shown = series(KEY)
    assert shown["specdec_time_per_output_token_seconds"] == pytest.approx(0.02)
    assert not [each for each in shown if each.startswith(("specdec_verdict", "specdec_drafted", "specdec_acceptance"))]


async def test_a_rollback_that_was_taken_back_is_not_shown() -> None:
    """A retry serves the requested speculation again."""
    stage = await rolled_back()
    stage.sis["annotations"] = {"specdec.io/retry": "1"}
    await stage.until("RollingOut")
    await stage.turn()
    assert not [each for each in series(KEY) if each.startswith("specdec_rolled_back")]


async def test_a_sis_that_cannot_be_followed_is_stalled_and_shows_no_evidence() -> None:
    """The user must act. Numbers that are no longer measured would look like health."""
    stage, _ = await watching()
    await stage.run(11)
    assert series(KEY)["specdec_stalled"] == 0
    service_metrics.refuse(KEY)
    shown = series(KEY)
    assert shown["specdec_stalled"] == 1
    assert [each for each in shown if each.startswith(WINDOW_NAMES) and "threshold" not in each] == []


async def test_the_reconcile_shows_that_a_spec_is_refused() -> None:
    """In both cases: before anything ran, and while the previous spec keeps running."""
    wrong = {"method": "draft_model", "tokens": 4}
    stage = Stage(speculation=wrong)
    await stage.turn()
    assert series(KEY)["specdec_stalled"] == 1
    stage, _ = await watching()
    stage.sis |= {"speculation": wrong, "generation": 2}
    await stage.turn()
    assert (series(KEY)["specdec_stalled"], series(KEY)["specdec_speculating"]) == (1, 1)


def test_a_deleted_sis_leaves_nothing_and_its_neighbour_everything() -> None:
    """Also what it showed at other times."""
    state = make_state(Phase.ROLLED_BACK, rollback=make_rollback())
    window = judged(comparison=make_comparison())
    for key in (OURS, NEIGHBOUR):
        service_metrics.observe(key, found(state, judged=window), {}, silent=SILENT, stalled=True)
    service_metrics.forget(OURS)
    assert series(OURS) == {}
    assert len(series(NEIGHBOUR)) > 30


FULL = {
    "memory": {
        "kvTokensMeasured": 900,
        "kvTokensPlainMeasured": 1_100,
        "kvTokensPredicted": 950,
        "kvUsedMost": 0.35,
        "utilization": 0.87,
        "utilizationMeasured": 0.87,
        "device": 1_000,
        "deviceUsed": 900,
    }
}
"""A status with every field about memory."""


def test_memory_is_shown_as_the_status_has_it() -> None:
    """Planned and measured. An unknown value has no series, and a refused service has none."""
    lowered = make_state(lowering=Lowering(reason="OutOfMemory", message="", at=0.0, steps=2))
    service_metrics.observe(OURS, found(lowered), FULL, silent=SILENT, stalled=False)
    shown = series()
    names = ("kv_tokens", "kv_tokens_plain", "kv_tokens_planned", "kv_used_most", "utilization_asked", "memory_lowered")
    assert [shown[f"specdec_{name}"] for name in names] == [900, 1_100, 950, 0.35, 0.87, 0.1]
    assert "specdec_kv_tokens" not in series_after({"memory": {"utilization": 0.87}})
    service_metrics.refuse(OURS)
    assert not [name for name in series() if name.startswith(("specdec_kv", "specdec_utilization"))]


def series_after(status: dict[str, Any]) -> dict[str, float]:
    """The series after a reconcile with this status."""
    service_metrics.observe(OURS, found(make_state()), status, silent=SILENT, stalled=False)
    return series()


def test_a_sis_has_a_bounded_number_of_series_whatever_happens_to_it() -> None:
    """Every phase, every verdict, every reason of a rollback, the longest draft: never more than MOST_SERIES."""
    most = 0
    reasons = [*ROLLBACK_REASONS, "a sentence that somebody wrote", "another"]
    for number, reason in enumerate(reasons * 2):
        phase = list(Phase)[number % len(Phase)]
        verdict = Verdict(outcome=list(Outcome)[number % 3], reason=list(Reason)[number % len(Reason)], message="")
        rollback = make_rollback(reason, good=make_good() if number % 2 else None)
        state = make_state(phase, rollback=rollback, dry_run=make_dry_run())
        window = judged(verdict, make_evidence(tokens=128), comparison=make_comparison(), gain=make_gain())
        seen = found(state, judged=window, thresholds=limits(speedup=1.0))
        service_metrics.observe(OURS, seen, FULL, silent=SILENT, stalled=bool(number % 2))
        most = max(most, len(series()))
        words = [each for each in series() if each.startswith("specdec_rolled_back")]
        told = reason if reason in ROLLBACK_REASONS else "Other"
        serves = phase is not Phase.RESPONDING
        assert words == [f"specdec_rolled_back {told} {rollback.to}"] * serves
    assert most <= service_metrics.MOST_SERIES <= 88
    assert {each.value for each in Target} == {"LastGood", "Baseline"}


def test_a_turn_that_breaks_is_counted_by_its_reason() -> None:
    """A fault of our own has a word of its own; what was foreseen is counted where it is caught."""
    turns, before = value("specdec_turn_seconds_count"), value("specdec_turn_failures_total", reason="Unexpected")
    with pytest.raises(KeyError), metrics.turn_timed():
        raise KeyError
    metrics.turn_failed("KServeMissing")
    assert value("specdec_turn_failures_total", reason="Unexpected") == before + 1
    assert value("specdec_turn_failures_total", reason="KServeMissing") > 0
    assert value("specdec_turn_seconds_count") == turns + 1


class _Status(Exception):
    status = 409


@pytest.mark.parametrize(("error", "code"), [(_Status(), "409"), (OSError(), "none")])
def test_a_request_that_fails_is_counted_by_verb_and_status(error: Exception, code: str) -> None:
    """An answer has a status; no answer has none."""
    before = value("specdec_api_errors_total", verb="patch", code=code)
    with pytest.raises(type(error)), metrics.requested("patch"):
        raise error
    assert value("specdec_api_errors_total", verb="patch", code=code) == before + 1


@pytest.mark.parametrize(
    ("error", "kind"),
    [(TimeoutError(), "Timeout"), (ConnectionRefusedError(), "Connection"), (ValueError("HTTP 500"), "Unreadable")],
)
def test_a_read_that_fails_is_counted_by_why(error: Exception, kind: str) -> None:
    """The kinds are few, and each is there from the start, so that a rate of the first failure is seen."""
    before = value("specdec_scrape_failures_total", source="pod", kind=kind)
    metrics.read(metrics.CounterSource.POD, metrics.failure_of(error))
    assert value("specdec_scrape_failures_total", source="pod", kind=kind) == before + 1


def test_a_replica_leads_unless_the_election_reports_that_it_does_not() -> None:
    """Without an election there is no report."""
    assert value("specdec_leader") == 1
    metrics.leading(False)
    assert value("specdec_leader") == 0
    metrics.leading(True)
    assert value("specdec_leader") == 1
