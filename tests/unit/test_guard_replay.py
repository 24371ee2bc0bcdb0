"""Recordings of a real engine, scrape by scrape through the guard: each must end in the decision that is right.

The expected decisions are the recordings' own (tests/data/traces/NAME.yaml). Two of them are truly slower although
their drafts are accepted (14-heavy-draft, 17); by acceptance, which is all that is judged here, they are kept.
"""

import functools
import gzip
import json
import pathlib
from dataclasses import dataclass
from typing import Any

import pytest
import yaml

from specdec_operator.api.guard import Guard
from specdec_operator.api.speculation import Method
from specdec_operator.control.watch import thresholds_of
from specdec_operator.guard.advance import advance
from specdec_operator.guard.counters import read_counters
from specdec_operator.guard.judge import Thresholds, judge
from specdec_operator.guard.state import Phase
from specdec_operator.guard.verdict import Outcome, Reason
from specdec_operator.guard.window import opened
from tests.unit.builders import facts, make_state

TRACES = pathlib.Path(__file__).parents[1] / "data" / "traces"
RULE = {
    "acceptanceRate": {"min": 0.3},
    "window": "60s",
    "interval": "2s",
    "warmup": "0s",
    "minDraftTokens": 200,
    "failureLimit": 3,
}
GUARD = Guard.model_validate(RULE)


@dataclass(frozen=True, kw_only=True)
class Played:
    """What the guard made of a recording: the reason of each window, of the open one at the end, and the decision."""

    reasons: tuple[Reason, ...]
    left_open: Reason
    rolled_back: float | None


@functools.cache
def about(name: str) -> dict[str, Any]:
    """What is known about a recording."""
    known: dict[str, Any] = yaml.safe_load((TRACES / f"{name}.yaml").read_text())
    return known


@functools.cache
def scrapes(name: str) -> tuple[dict[str, Any], ...]:
    """Its scrapes, in order."""
    with gzip.open(TRACES / f"{name}.jsonl.gz", "rt") as lines:
        return tuple(json.loads(line) for line in lines)


def rule_for(name: str) -> Thresholds:
    """The thresholds, filled in for the recording's method and K as the operator fills them in."""
    method, tokens = about(name)["method"], about(name)["num_speculative_tokens"] or 4
    method = Method.NGRAM if method == Method.NGRAM else Method.DRAFT_MODEL
    return thresholds_of(GUARD, method, tokens)


def play(name: str, *, pods: frozenset[str] = frozenset({"pod-0"})) -> Played:
    """Plays a recording until the guard decides, or to its end."""
    limits, state, reasons, window, now = rule_for(name), make_state(Phase.WATCHING), [], opened(0.0), 0.0
    rounds = [each for each in scrapes(name) if each["pod"] in pods]
    for each in rounds:
        now = each["t"]
        reading = read_counters(each["text"]) if each["ok"] else None
        window = window.with_readings({each["pod"]: reading}, now)
        if now - window.opened < GUARD.window - GUARD.interval / 2 or each["pod"] != max(pods):
            continue
        verdict, _ = judge(window, limits, now)
        reasons.append(verdict.reason)
        window = window.next(now, pods)
        state = advance(state, facts(verdict=verdict, failure_limit=GUARD.failure_limit), now)
        if state.rollback is not None:
            return Played(reasons=tuple(reasons), left_open=verdict.reason, rolled_back=now)
    return Played(reasons=tuple(reasons), left_open=judge(window, limits, now)[0].reason, rolled_back=None)


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
    "14-draft-is-target",
    "14-heavy-draft",
    "16-metrics-hang",
    "17-structured-output",
    "18-traffic-stops",
)
ROLLED_BACK = ("02-drift-steady", "03-code-then-drift", "15-draft-max-position")
PLAYED_APART = ("09-two-pods", "13-no-speculation")


def test_every_recording_is_played() -> None:
    """A recording that nobody plays proves nothing."""
    assert sorted(KEPT + ROLLED_BACK + PLAYED_APART) == sorted(path.stem for path in TRACES.glob("*.yaml"))


@pytest.mark.parametrize("name", ROLLED_BACK)
def test_a_draft_that_is_not_accepted_is_taken_out_in_time(name: str) -> None:
    """Not before three windows could end, and not after the latest second of the recording's own rule."""
    expected = about(name)["expected"]
    assert expected["decision"] == "roll back"
    played = play(name)
    assert played.rolled_back is not None
    assert expected["earliest_s"] <= played.rolled_back <= expected["latest_s"]
    assert played.reasons[-3:] == (Reason.ACCEPTANCE_RATE_LOW,) * 3


@pytest.mark.parametrize("name", KEPT)
def test_a_draft_that_is_accepted_or_not_measured_is_kept(name: str) -> None:
    """Traffic that swings, stops or trickles, a restart, and metrics that hang convict nobody."""
    assert "roll back" not in about(name)["expected"]["decision"].replace("(a TPOT rule: roll back)", "")
    assert play(name).rolled_back is None


@pytest.mark.parametrize(
    ("name", "seen"),
    [
        ("06-no-traffic", {Reason.NO_TRAFFIC}),
        ("07-trickle", {Reason.FEW_TOKENS, Reason.SCRAPE_FAILED}),
        ("08-restart", {Reason.SCRAPE_FAILED, Reason.ACCEPTED}),
        ("16-metrics-hang", {Reason.SCRAPE_FAILED, Reason.ACCEPTED}),
    ],
)
def test_missing_evidence_is_named_for_what_it_is(name: str, seen: set[Reason]) -> None:
    """Not enough data is a verdict of its own, with its reason."""
    played = play(name)
    assert {*played.reasons, played.left_open} == seen


def test_traffic_that_stops_ends_in_no_verdict() -> None:
    """18: kept while there is traffic, then nothing to judge by."""
    played = play("18-traffic-stops")
    assert (played.reasons, played.left_open) == ((Reason.ACCEPTED,), Reason.NO_TRAFFIC)


def test_only_the_broken_pod_of_two_is_blamed() -> None:
    """09: each pod judged alone; together they are skewed, and the draft stays."""
    expected = about("09-two-pods")["expected"]
    assert play("09-two-pods", pods=frozenset({"pod-0"})).rolled_back is None
    alone = play("09-two-pods", pods=frozenset({"pod-1"})).rolled_back
    assert alone is not None
    assert expected["earliest_s"] <= alone <= expected["latest_s"]
    together = play("09-two-pods", pods=frozenset({"pod-0", "pod-1"}))
    assert together.rolled_back is None
    assert set(together.reasons) == {Reason.POD_SKEW}


def test_an_engine_without_speculation_has_no_acceptance() -> None:
    """13: no counters are not an acceptance of zero. A service that asked for speculation is told what is wrong."""
    with_families = [read_counters(each["text"]).speculative for each in scrapes("13-no-speculation")]
    assert not any(with_families)
    played = play("13-no-speculation")
    assert played.rolled_back is None
    assert set(played.reasons) == {Reason.NOT_DRAFTING}


@pytest.mark.parametrize("name", sorted({*KEPT, *ROLLED_BACK} - {"08-restart"}))
def test_the_counted_acceptance_is_the_servers_own(name: str) -> None:
    """First against last scrape, compared with what the recorder summed up over its phases (08 has two processes)."""
    phases = [phase["server"]["pod-0"] for phase in about(name)["phases"] if phase.get("server")]
    drafted, accepted = (sum(each[key] for each in phases) for key in ("drafted", "accepted"))
    read = [read_counters(each["text"]) for each in scrapes(name) if each["ok"]]
    ours = read[-1].accepted_tokens - read[0].accepted_tokens, read[-1].draft_tokens - read[0].draft_tokens
    assert ours[0] == pytest.approx(accepted, rel=0.02, abs=50)
    assert ours[1] == pytest.approx(drafted, rel=0.02, abs=50)


def test_overlapping_windows_would_have_convicted_the_innocent() -> None:
    """05: why windows are separate. Re-evaluated at each scrape, three windows in a row fail; apart, they do not."""
    limits, states = rule_for("05-alternating"), []
    read = [(each["t"], read_counters(each["text"])) for each in scrapes("05-alternating")]
    for start, (at, first) in enumerate(read):
        end = next((index for index, (t, _) in enumerate(read) if t - at >= GUARD.window), None)
        if end is None:
            break
        window = opened(at).with_readings({"pod-0": first}, at)
        for t, reading in read[start + 1 : end + 1]:
            window = window.with_readings({"pod-0": reading}, t)
        states.append(judge(window, limits, read[end][0])[0].outcome)
    runs = "".join("F" if each is Outcome.FAIL else "." for each in states)
    assert "FFF" in runs
    assert play("05-alternating").rolled_back is None
