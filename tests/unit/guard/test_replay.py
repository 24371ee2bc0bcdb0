"""Recordings of a real engine, scrape by scrape through the guard: each must end in the decision that is right.

The expected decisions are the recordings' own (tests/data/traces/NAME.yaml).
"""

import functools
import pathlib
from typing import Any

import pytest
import yaml

from specdec_command.replay.play import Played, ReplayRound, learn, play, read_recording
from specdec_operator.api.guard import Guard
from specdec_operator.api.speculation import Method
from specdec_operator.guard.judge import judge
from specdec_operator.guard.policy import METHODS, thresholds
from specdec_operator.guard.state import Phase
from specdec_operator.guard.tries import Action
from specdec_operator.guard.verdict import Outcome, Reason
from specdec_operator.guard.window import Window, by_pod, pooled

TRACES = pathlib.Path(__file__).parents[2] / "data" / "traces"
BASELINE = "13-no-speculation"
PODS = ("pod-0", "pod-1", "pod-2")
RULE = {
    "acceptanceRate": {"min": 0.3},
    "window": "60s",
    "interval": "2s",
    "warmup": "0s",
    "minDraftTokens": 200,
    "failureLimit": 3,
}
KEPT = (
    "01-code-steady",
    "04-drift-then-code",
    "04-drift-then-code-long",
    "05-alternating",
    "06-no-traffic",
    "07-trickle",
    "08-restart",
    "10-ngram",
    "11-k1-code",
    "11-k8-code",
    "12-concurrency-sweep",
    "13-no-speculation",
    "14-draft-is-target",
    "14-heavy-draft",
    "16-metrics-hang",
    "17-structured-output",
    "18-traffic-stops",
)
ROLLED_BACK = ("02-drift-steady", "03-code-then-drift", "15-draft-max-position")
RESTARTED = ("09-two-pods",)
TRULY_SLOWER = ("14-heavy-draft", "17-structured-output")


@functools.cache
def about(name: str) -> dict[str, Any]:
    """What is known about a recording."""
    known: dict[str, Any] = yaml.safe_load((TRACES / f"{name}.yaml").read_text())
    return known


@functools.cache
def rounds(name: str) -> tuple[ReplayRound, ...]:
    """Its scrapes, in order."""
    return read_recording(TRACES / f"{name}.jsonl.gz")


@functools.cache
def played(name: str, *, window: str = "60s", speedup: float | None = None) -> Played:
    """What the guard makes of it, by the recorder's rule or with shorter windows. speedup: at least, against plain."""
    gate = {"speedup": {"min": speedup}} if speedup else {}
    guard = Guard.model_validate(RULE | {"window": window} | gate)
    method = Method.NGRAM if about(name)["method"] == Method.NGRAM else Method.DRAFT_MODEL
    baseline = learn(rounds(BASELINE), guard) if speedup else ()
    return play(rounds(name), guard, METHODS[method], baseline)


def actions(found: Played) -> list[tuple[Action, float, str | None]]:
    """What was done, when, and to which pod."""
    return [(each.action, each.at, each.pod) for each in found.decisions if each.action]


def test_every_recording_is_played() -> None:
    """A recording that no test plays proves nothing."""
    assert sorted(KEPT + ROLLED_BACK + RESTARTED) == sorted(path.stem for path in TRACES.glob("*.yaml"))


@pytest.mark.parametrize("speedup", [None, 0.95])
@pytest.mark.parametrize("name", ROLLED_BACK)
def test_a_draft_that_is_not_accepted_is_taken_out_in_time(name: str, speedup: float | None) -> None:
    """Once, not before three windows could end, and not after the latest second of the recording's own rule."""
    expected = about(name)["expected"]
    assert expected["decision"] == "roll back"
    found = played(name, speedup=speedup)
    ((action, at, pod),) = actions(found)
    assert (action, pod) == (Action.ROLL_BACK, None)
    assert expected["earliest_s"] <= at <= expected["latest_s"]
    assert {each.judged.verdict.reason for each in found.decisions[-3:]} == {Reason.ACCEPTANCE_RATE_LOW}
    assert (found.phase, found.serving) == (Phase.ROLLED_BACK, "plain")


@pytest.mark.parametrize("speedup", [None, 0.95])
@pytest.mark.parametrize("name", KEPT)
def test_a_draft_that_is_accepted_or_not_measured_is_kept(name: str, speedup: float | None) -> None:
    """Changing, stopped or sparse traffic, a restart, and metrics that hang are not evidence against a draft."""
    assert "roll back" not in about(name)["expected"]["decision"].replace("(a TPOT rule: roll back)", "")
    found = played(name, speedup=speedup)
    assert actions(found) == []
    assert found.phase is Phase.WATCHING


def test_only_the_broken_pod_of_two_is_restarted() -> None:
    """09: the other one passes, so the pods differ and not the draft; once it is gone, windows pass."""
    expected = about("09-two-pods")["expected"]
    ((action, at, pod),) = actions(played("09-two-pods"))
    assert (action, pod) == (Action.RESTART_POD, "pod-1")
    assert expected["earliest_s"] <= at <= expected["latest_s"]
    after = played("09-two-pods", window="20s")
    assert [(action, pod) for action, _, pod in actions(after)] == [(Action.RESTART_POD, "pod-1")]
    assert {each.judged.verdict.reason for each in after.decisions[3:]} == {Reason.ACCEPTED}


@pytest.mark.parametrize("window", ["15s", "20s"])
def test_a_draft_that_is_accepted_and_slow_is_taken_out_by_its_speed(window: str) -> None:
    """14: acceptance 1.00 at 0.68 times the speed of the baseline, which acceptance alone would keep."""
    ((action, _, _),) = actions(played("14-heavy-draft", window=window, speedup=0.95))
    assert action is Action.ROLL_BACK
    assert played("14-heavy-draft", window=window, speedup=0.95).decisions[-1].judged.verdict.reason is (
        Reason.SLOWER_THAN_PLAIN
    )
    assert actions(played("14-heavy-draft", window=window)) == []


def test_structured_output_is_seen_to_be_slower_and_why() -> None:
    """17: drafts that the grammar forbids are cut before they are counted, so hardly a step has one."""
    found = played("17-structured-output", window="20s", speedup=0.95)
    reasons = [each.judged.verdict.reason for each in found.decisions]
    assert reasons == [Reason.ACCEPTED, Reason.SLOWER_THAN_PLAIN, Reason.SLOWER_THAN_PLAIN]
    assert "of the steps had a draft" in found.decisions[1].judged.verdict.message
    by_acceptance = played("17-structured-output", window="20s")
    assert by_acceptance.decisions[1].judged.verdict.reason is Reason.RARELY_DRAFTS


@pytest.mark.parametrize("name", sorted(({*KEPT} - {*TRULY_SLOWER, "04-drift-then-code-long"}) | {"09-two-pods"}))
def test_short_windows_with_a_speed_gate_take_no_good_draft_out(name: str) -> None:
    """Windows of 15 s are noisy; speculation that is faster than the baseline stays all the same."""
    assert Action.ROLL_BACK not in {action for action, _, _ in actions(played(name, window="15s", speedup=0.95))}


@pytest.mark.parametrize(
    ("name", "seen"),
    [
        ("06-no-traffic", {Reason.NO_TRAFFIC}),
        ("07-trickle", {Reason.FEW_TOKENS}),
        ("08-restart", {Reason.SCRAPE_FAILED}),
        ("13-no-speculation", {Reason.PLAIN}),
        ("16-metrics-hang", {Reason.SCRAPE_FAILED}),
    ],
)
def test_missing_evidence_is_named_for_what_it_is(name: str, seen: set[Reason]) -> None:
    """Not enough data is a verdict of its own, with its reason."""
    assert {each.judged.verdict.reason for each in played(name).decisions} == seen


def test_unlike_loads_are_not_compared() -> None:
    """12: the baseline was measured with 1 and 4 clients; its speed with 2 and 8 clients is not estimated."""
    found = played("12-concurrency-sweep", window="20s", speedup=0.95)
    reasons = [each.judged.verdict.reason for each in found.decisions]
    assert reasons == [Reason.ACCEPTED, Reason.NOT_MEASURED, Reason.ACCEPTED, Reason.NOT_MEASURED]


def test_the_baseline_is_learnt_as_the_recorder_measured_it() -> None:
    """13: its phases with one and with four clients, each within 5 % of the recorder's own means."""
    baseline = learn(rounds(BASELINE), Guard.model_validate(RULE))
    phases = [phase for phase in about(BASELINE)["phases"] if phase.get("server")]
    for speed in baseline:
        recorded = [each["server"]["pod-0"]["tpot_ms"] for each in phases if each["concurrency"] == speed.load]
        assert (speed.token_time.times.mean or 0.0) * 1000 == pytest.approx(sum(recorded) / len(recorded), rel=0.05)
    assert [each.load for each in baseline] == [1, 4]


@pytest.mark.parametrize("name", sorted({*KEPT, *ROLLED_BACK} - {"08-restart", BASELINE}))
def test_the_counted_acceptance_is_the_servers_own(name: str) -> None:
    """First against last scrape, compared with what the recorder summed up over its phases (08 has two processes)."""
    phases = [phase["server"]["pod-0"] for phase in about(name)["phases"] if phase.get("server")]
    drafted, accepted = (sum(each[key] for each in phases) for key in ("drafted", "accepted"))
    read = [reading for each in rounds(name) if (reading := each.readings["pod-0"])]
    ours = read[-1].accepted_tokens - read[0].accepted_tokens, read[-1].draft_tokens - read[0].draft_tokens
    assert ours[0] == pytest.approx(accepted, rel=0.02, abs=50)
    assert ours[1] == pytest.approx(drafted, rel=0.02, abs=50)


def test_overlapping_windows_would_have_failed_a_good_draft() -> None:
    """05: why windows are separate. Re-evaluated at each scrape, three windows in a row fail; apart, they do not."""
    guard = Guard.model_validate(RULE)
    limits, outcomes = thresholds(guard, METHODS[Method.DRAFT_MODEL], tokens=4), []
    looks = rounds("05-alternating")
    for start, each in enumerate(looks):
        end = next((index for index, later in enumerate(looks) if later.at - each.at >= guard.window), None)
        if end is None:
            break
        window = Window(each.at)
        for later in looks[start : end + 1]:
            window = window.with_readings(later.readings, later.at)
        outcomes.append(judge(window, limits, looks[end].at).verdict.outcome)
    assert "FFF" in "".join("F" if each is Outcome.FAIL else "." for each in outcomes)
    assert actions(played("05-alternating")) == []


def test_blocks_of_time_add_up_to_their_window() -> None:
    """12: what the blocks fold is what the first and the last reading differ by."""
    window = Window(0.0, 7.5)
    for each in rounds("12-concurrency-sweep"):
        window = window.with_readings(each.readings, each.at)
    found = pooled(by_pod(window.closed(), 89.0), seconds=89.0, unread=0)
    assert found.acceptance.of == found.draft_tokens
    assert found.acceptance.total == found.accepted_tokens
    assert sum(pace.tokens for pace in found.token_times.values()) == found.generation_tokens
    assert sorted(found.token_times) == [1, 2, 4, 8]


@pytest.mark.parametrize(("silent", "decided"), [(("pod-1",), True), (("pod-1", "pod-2"), False)])
def test_a_pod_that_hangs_does_not_blind_the_guard_for_the_others(silent: tuple[str, ...], decided: bool) -> None:
    """02 in three pods: two that fail are enough to decide by, one of three is not."""
    looks = tuple(
        ReplayRound(at=each.at, readings={pod: None if pod in silent else each.readings["pod-0"] for pod in PODS})
        for each in rounds("02-drift-steady")
    )
    found = play(looks, Guard.model_validate(RULE), METHODS[Method.DRAFT_MODEL])
    assert [action for action, _, _ in actions(found)] == ([Action.ROLL_BACK] if decided else [])
