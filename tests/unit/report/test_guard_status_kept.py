"""The guard's state, written to status.guard and read back by another process."""

import math
from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.builders import Body, make_baseline, make_failure, make_good, make_state, status_with

from specdec_operator.api.times import from_time, to_time
from specdec_operator.guard.baseline import BaselineSpeed
from specdec_operator.guard.baseline_pods import Measure, Pair
from specdec_operator.guard.decisions import (
    Adaptation,
    BaselineFailure,
    DialDecision,
    DryRunAction,
    KnownGood,
    Lowering,
    PodFailure,
    Probe,
    Reduction,
    Rollback,
)
from specdec_operator.guard.off_cost import BaselineSteps, MeasuredFor, OffCost, PodLevels, StepsOfBatch
from specdec_operator.guard.outages import Outage
from specdec_operator.guard.rows import TokensUpTo
from specdec_operator.guard.saved import Saved
from specdec_operator.guard.state import Phase, RequestedBaselinePods, State
from specdec_operator.guard.statistics import RatioSums
from specdec_operator.guard.token_time import Mix, TokenTime
from specdec_operator.guard.trial import Traffic, Trial
from specdec_operator.report.guard_status import kept_state, without_progress

TIMES = st.integers(0, 4_000_000_000).map(float)
WORDS = st.text("aZ09 .:é{}\"'\\\n", max_size=30)
HASHES = st.text("0123456789abcdef", min_size=1, max_size=10)
COUNTS = st.integers(0, 10**6)
SUMS = st.floats(0, 1e12)
PODS = st.lists(HASHES, max_size=3).map(tuple)

GOODS = st.builds(
    KnownGood,
    block=WORDS,
    digest=HASHES,
    of=HASHES,
    tokens=st.integers(0, 128),
    rate=st.floats(0, 1),
    at=TIMES,
    lowered=st.integers(0, 2),
)
NUMBERS = st.floats(0, 1e12)
TRAFFIC = st.builds(
    Traffic,
    **{
        each.name: st.none() | NUMBERS if each.name in ("prompt_tokens", "first_token_seconds") else NUMBERS
        for each in fields(Traffic)
    },
)
WINDOWS = st.lists(TRAFFIC, max_size=5).map(tuple)
TRIALS = st.builds(Trial, speculating=WINDOWS, least=NUMBERS, plain=WINDOWS, seen=COUNTS)
ROLLBACKS = st.builds(Rollback, reason=WORDS, message=WORDS, at=TIMES, good=st.none() | GOODS, trial=st.none() | TRIALS)
CONTROLS = st.builds(
    RequestedBaselinePods, replicas=COUNTS, reason=WORDS, message=WORDS, at=TIMES, replaces=st.booleans(), up=TIMES
)
SHORT = st.integers(-20_000, 20_000).map(lambda each: each / 10_000)
SPEEDS = st.integers(0, 10**6).map(lambda each: each / 10**6)
PAIRS = st.builds(
    Pair,
    at=TIMES,
    seen=st.dictionaries(st.sampled_from(Measure), st.tuples(SHORT, SHORT)),
    unlike=st.tuples(SHORT, SHORT, SHORT),
    baseline=SPEEDS,
    seconds=SPEEDS,
    pods=st.tuples(COUNTS, COUNTS),
)
SHARES = st.integers(1, 10_000).map(lambda each: each / 10_000)
THOUSANDTHS = st.integers(-(10**6), 10**6).map(lambda each: each / 1000)
MEASURED_FOR = st.builds(
    MeasuredFor,
    revision=HASHES,
    engine=WORDS,
    image=WORDS,
    model=WORDS,
    method=WORDS,
    draft=WORDS,
    tokens=st.integers(0, 128),
)
OFF_COSTS = st.builds(
    OffCost,
    ratio=SHARES,
    low=SHARES,
    high=SHARES,
    at=TIMES,
    windows=COUNTS,
    pods=st.tuples(COUNTS, COUNTS),
    baseline_at=TIMES,
    prompts=st.none() | SHARES,
    measured_for=st.none() | MEASURED_FOR,
)
AMOUNTS = THOUSANDTHS.map(abs)
LEVELS = st.builds(PodLevels, pods=COUNTS, windows=AMOUNTS, mean=THOUSANDTHS, missed=AMOUNTS)
STEPS_OF_BATCH = st.builds(StepsOfBatch, batch=COUNTS, steps=AMOUNTS, seconds=AMOUNTS, requests=AMOUNTS)
BASELINE_STEPS = st.builds(
    BaselineSteps, at=TIMES, levels=LEVELS, batches=st.lists(STEPS_OF_BATCH, max_size=3).map(tuple)
)
REDUCTIONS = st.builds(
    Reduction, reason=WORDS, message=WORDS, at=TIMES, tokens=st.integers(1, 128), dialled=st.booleans()
)
PROBES = st.lists(st.builds(Probe, number=COUNTS, drafted=SUMS, accepted=SUMS, drafts=SUMS), max_size=3).map(tuple)
DIALS = st.builds(DialDecision, reason=WORDS, message=WORDS, at=TIMES, probes=PROBES)
SAVED = st.builds(Saved, hours=THOUSANDTHS, low=THOUSANDTHS, high=THOUSANDTHS, compared=THOUSANDTHS, since=TIMES)
LOWERINGS = st.builds(Lowering, reason=WORDS, message=WORDS, at=TIMES, steps=st.integers(1, 2))
WOULDS = st.builds(DryRunAction, action=WORDS, reason=WORDS, message=WORDS, at=TIMES)
MOMENTS = st.builds(RatioSums, blocks=COUNTS, total=SUMS, of=SUMS, total_total=SUMS, total_of=SUMS, of_of=SUMS)
MIXES = st.builds(Mix, answers=SUMS, prompt_tokens=SUMS, cache_queries=SUMS, cache_hits=SUMS)
TIMINGS = st.builds(TokenTime, times=MOMENTS, tokens=SUMS, seconds=SUMS, mix=st.none() | MIXES)
SPEEDS_BY_LOAD = st.builds(BaselineSpeed, load=COUNTS, token_time=TIMINGS)

FAILURES = st.builds(PodFailure, pod=WORDS, reason=WORDS, message=WORDS, ends=COUNTS, at=TIMES, answered=st.booleans())
OUTAGES = st.builds(Outage, pod=WORDS, reason=WORDS, since=TIMES, until=TIMES, answered=st.booleans())
ALSO_WITHOUT = st.builds(BaselineFailure, reason=WORDS, message=WORDS, at=TIMES, times=st.integers(1, 9))

ROWS = st.builds(TokensUpTo, up_to=st.none() | COUNTS, tokens=COUNTS)
ADAPTATIONS = st.builds(Adaptation, reason=WORDS, message=WORDS, at=TIMES, rows=st.lists(ROWS, max_size=3).map(tuple))

EVERY_FIELD: dict[str, st.SearchStrategy[Any]] = {
    "phase": st.sampled_from(Phase),
    "set_aside": st.none() | ROLLBACKS | REDUCTIONS,
    "since": TIMES,
    "speculation": HASHES,
    "service": HASHES,
    "memory": HASHES,
    "revision": st.none() | HASHES,
    "wanted": HASHES,
    "wanted_since": TIMES,
    "up": COUNTS,
    "replacing": st.none() | HASHES,
    "failures": COUNTS,
    "blamed": PODS,
    "judged": TIMES,
    "measuring": st.booleans(),
    "attempted": st.booleans(),
    "rollback": st.none() | ROLLBACKS,
    "reduced": st.none() | REDUCTIONS,
    "dial": st.none() | DIALS,
    "adapted": st.none() | ADAPTATIONS,
    "lowering": st.none() | LOWERINGS,
    "dry_run": st.none() | WOULDS,
    "rollbacks": COUNTS,
    "retries": COUNTS,
    "restarting": PODS,
    "restarts": COUNTS,
    "pod_failures": st.lists(FAILURES, max_size=3).map(tuple),
    "outages": st.lists(OUTAGES, max_size=3).map(tuple),
    "baseline_fails": st.none() | ALSO_WITHOUT,
    "last_good": st.lists(GOODS, max_size=2).map(tuple),
    "baseline": st.lists(SPEEDS_BY_LOAD, max_size=3).map(tuple),
    "regret": st.integers(0, 4000).map(lambda each: each / 1000),
    "control": st.none() | CONTROLS,
    "pairs": st.lists(PAIRS, max_size=3).map(tuple),
    "unmeasured": COUNTS,
    "doubts": COUNTS,
    "doubted": TIMES,
    "armless": st.booleans(),
    "collateral": st.lists(st.sampled_from(Measure), unique=True).map(tuple),
    "saved": st.none() | SAVED,
    "off_cost": st.none() | OFF_COSTS,
    "baseline_steps": st.none() | BASELINE_STEPS,
    "handled_retry": st.none() | WORDS,
    "handled_rollback": st.none() | WORDS,
}
STATES = st.builds(State, **EVERY_FIELD)


def test_no_field_of_the_state_is_left_out_here() -> None:
    """A new field must survive a restart as well."""
    assert set(EVERY_FIELD) == {each.name for each in fields(State)}


@given(STATES)
def test_a_restarted_operator_knows_what_it_decided(state: State) -> None:
    """Nothing that the guard must not forget is lost."""
    assert kept_state(status_with(state)) == state


@given(STATES, st.floats(0, 0.999))
def test_times_are_kept_to_the_second(state: State, part: float) -> None:
    """Kubernetes' times have no fractions; a phase never seems to begin later than it did."""
    late = kept_state({"guard": status_with(state)["guard"] | {"since": to_time(state.since + part)}})
    assert late is not None
    assert late.since == math.floor(state.since + part)


@pytest.mark.parametrize(
    "guard",
    [
        None,
        {},
        {"state": "Watching"},
        {"state": "Dreaming", "since": "2026-11-20T10:00:00Z"},
        {"state": "Watching", "since": "yesterday"},
        {"state": "Watching", "since": "2026-11-20T10:00:00Z", "failures": "many"},
        {"state": "Watching", "since": "2026-11-20T10:00:00Z", "rollback": {"reason": "X"}},
    ],
)
def test_an_unreadable_state_counts_as_no_state(guard: Body | None) -> None:
    """After an edit by hand, or from a version that is not ours: the guard starts again."""
    assert kept_state({"guard": guard}) is None
    assert kept_state({}) is None


def test_additional_fields_of_a_newer_version_are_ignored() -> None:
    """A downgrade keeps the decision."""
    assert kept_state({"guard": status_with(make_state())["guard"] | {"fromTheFuture": 1}}) == make_state()


def test_times_are_utc_texts() -> None:
    """As Kubernetes writes them; other offsets are read as well."""
    assert to_time(1_795_226_868.84) == "2026-11-21T02:07:48Z"
    assert from_time("2026-11-21T02:07:48Z") == from_time("2026-11-21T03:07:48+01:00") == 1_795_226_868.0


def test_a_state_of_an_earlier_release_is_read() -> None:
    """It knew fewer fields; the decision is what counts."""
    old = {"state": "RolledBack", "since": "2026-11-20T10:00:00Z", "speculation": "s1", "failures": 0, "rollbacks": 1}
    why = {"reason": "AcceptanceRateLow", "message": "acceptance 0.02", "at": "2026-11-20T10:00:00Z"}
    state = kept_state({"guard": old | {"rollback": why, "wouldRollBack": why}})
    assert state is not None
    assert (state.serves_baseline, state.rollbacks, state.service, state.last_good) == (True, 1, "", ())


@pytest.mark.parametrize("values", [6, 7, 8], ids=["earlier", "this", "later"])
def test_the_windows_of_a_trial_are_read_from_earlier_and_later_releases(values: int) -> None:
    """The first six values are those of the earlier release; what is missing is not known."""
    window = [8.0, 328.0, 17.0, 3600.0, 328.0, 20000.0, 20.0, 1.0][:values]
    why = {"reason": "TooSlow", "message": "too slow", "at": "2026-11-20T10:00:00Z"}
    trial = {"speculating": [window], "plain": [], "least": 1.0, "seen": 0}
    kept = status_with(make_state())["guard"] | {"rollback": why | {"trial": trial}}
    state = kept_state({"guard": kept})
    assert state is not None
    assert state.rollback is not None
    assert state.rollback.trial is not None
    (read,) = state.rollback.trial.speculating
    assert (read.prompt_tokens, read.first_token_seconds) == (20000.0, 20.0 if values > 6 else None)


@pytest.mark.parametrize(
    ("change", "is_one"),
    [
        ({"judged": 99.0}, False),
        ({"baseline": (make_baseline(1, 0.03, 0.04),)}, False),
        ({"baseline": (make_baseline(1), make_baseline(2))}, True),
        ({"baseline": ()}, True),
        ({"failures": 1}, True),
        ({"blamed": ("p",)}, True),
        ({"restarting": ("p",)}, True),
        ({"last_good": (make_good(),)}, True),
        ({"replacing": "r2"}, True),
        ({"up": 3, "wanted_since": 99.0}, False),
        ({"wanted_since": 99.0}, True),
        ({"pod_failures": (make_failure(),)}, True),
    ],
)
def test_what_grows_with_every_window_is_not_a_decision(change: dict[str, Any], is_one: bool) -> None:
    """Otherwise a service without speculation would be written after each window. A new load is worth a write."""
    state = make_state(baseline=(make_baseline(1),))
    assert (without_progress(replace(state, **change)) != without_progress(state)) is is_one
