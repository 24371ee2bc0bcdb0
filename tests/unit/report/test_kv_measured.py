"""The KV cache as it was measured: beside the plan, over time, and what is recommended."""

from dataclasses import replace
from typing import Any

import pytest
from tests.unit.builders import found, judged, make_evidence, make_rollback, make_state

from specdec_engine.memory.plan import DeviceMemory
from specdec_operator.guard.kv_cache import KvCache
from specdec_operator.guard.state import Phase, State
from specdec_operator.report.conditions import Findings
from specdec_operator.report.kv_measured import Measured, measured
from specdec_operator.report.status import status_of

HOUR = 3600.0
WATCHING = make_state(service="s")


def seen(cache: KvCache | None, state: State = WATCHING, *, speculative: bool = True, **planned: Any) -> Findings:
    """What a reconcile found whose window showed this cache."""
    made = found(state, judged=judged(evidence=make_evidence(kv_cache=cache, speculative=speculative)))
    return replace(made, plan=replace(made.plan, memory=replace(made.plan.memory, **planned)))


def before(findings: Findings, memory: dict[str, Any]) -> dict[str, Any]:
    """A status of the same pods."""
    guard = {"service": "s", "speculation": findings.state.speculation}
    return {"guard": guard, "serving": {"revision": findings.revision}, "memory": memory}


def test_with_another_draft_it_is_measured_again() -> None:
    """The measurement of a baseline pod stays: the pod has no draft."""
    kept = {"kvTokensMeasured": 900, "kvTokensPlainMeasured": 1_100}
    nothing = replace(seen(None), judged=None)
    assert measured(nothing, before(nothing, kept), 0) == Measured(tokens=900, baseline=1_100)
    other = replace(nothing, state=replace(nothing.state, speculation="other"))
    assert measured(other, before(nothing, kept), 0) == Measured(baseline=1_100)


def test_measured_against_planned() -> None:
    """Each rank has a cache of its own, and the plan is for one."""
    cache = KvCache(tokens=1_900, ranks=2, utilization=0.87)
    assert measured(seen(cache, kv_tokens=1_000), {}, 0).difference == -5
    assert measured(seen(cache, kv_tokens=None), {}, 0).difference is None
    assert measured(seen(cache), {}, 0).utilization == 0.87


def test_without_a_new_window_what_was_measured_of_these_pods_stays() -> None:
    """Other pods start without measurements. Another plan for the same pods makes the difference unknown."""
    kept = {"kvTokensPredicted": 1_000, "kvTokensDifferencePercent": 4, "kvUsedMost": 0.5, "utilizationMeasured": 0.9}
    nothing = replace(seen(None, kv_tokens=1_000), judged=None)
    assert measured(nothing, before(nothing, kept), 0) == Measured(difference=4, used=0.5, utilization=0.9)
    assert measured(replace(nothing, revision="other"), before(nothing, kept), 0) == Measured()
    replanned = replace(seen(None, kv_tokens=2_000), judged=None)
    assert measured(replanned, before(replanned, kept), 0).difference is None


def test_what_was_in_use_only_grows() -> None:
    """In steps, so that the status is not written for each window."""
    first = seen(KvCache(used=0.31))
    assert measured(first, {}, 0).used == 0.35
    assert measured(seen(KvCache(used=0.1)), before(first, {"kvUsedMost": 0.35}), 0).used == 0.35
    assert measured(seen(KvCache(used=1.0)), before(first, {"kvUsedMost": 0.35}), 0).used == 1.0


def test_a_window_that_caused_the_rollback_is_not_a_window_of_a_baseline_pod() -> None:
    """It is judged once more in the reconcile that rolls back; the pods in it had the draft."""
    state = make_state(Phase.ROLLED_BACK, rollback=make_rollback(), service="s")
    cache = KvCache(tokens=400, used=0.5, utilization=0.87)
    assert measured(seen(cache, state), {}, 0) == Measured()
    baseline = measured(seen(cache, state, speculative=False), {}, 0)
    assert (baseline.baseline, baseline.tokens, baseline.used) == (400, None, 0.5)


@pytest.mark.parametrize(
    ("cache", "now", "says"),
    [
        (KvCache(used=0.96), 0, "the KV cache is nearly full: 100 % was in use"),
        (KvCache(used=0.9), HOUR, ""),
        (KvCache(requests=1.25), 0, "the KV cache is nearly too small: it holds 1.2 requests of the maximum length"),
        (KvCache(requests=2.0), 0, ""),
        (KvCache(used=0.2), HOUR - 1, ""),
        (KvCache(used=0.2), HOUR, "the KV cache is mostly free: at most 20 % was in use"),
        (KvCache(used=0.0), HOUR, ""),
        (KvCache(utilization=0.92), 0, "the engine reports a memory share of 0.92, and the operator requested 0.87"),
        (KvCache(utilization=0.87), 0, ""),
        (None, HOUR, ""),
    ],
)
def test_what_is_recommended(cache: KvCache | None, now: float, says: str) -> None:
    """Where little is left at once; where much is left after an hour; else nothing."""
    told = measured(seen(cache, make_state(service="s", since=0.0), utilization=0.87), {}, now).recommendation
    assert (told or "").startswith(says)
    assert bool(told) is bool(says)


def test_what_is_taken_of_the_device() -> None:
    """The most that these pods had, in steps of a hundredth. A recommendation appears if the memory is nearly full."""
    found_ = replace(seen(None, device=DeviceMemory(bytes=10_000, source="told")), taken=8_801)
    assert measured(found_, {}, 0).taken == 8_900
    assert measured(found_, before(found_, {"deviceUsed": 9_000}), 0).taken == 9_000
    assert measured(replace(found_, taken=None), before(found_, {"deviceUsed": 9_000}), 0).taken == 9_000
    assert measured(replace(found_, taken=None), {}, 0).taken is None
    assert measured(found_, {}, 0).recommendation is None
    full = measured(replace(found_, taken=9_801), {}, 0)
    assert (full.recommendation or "").startswith("the device's memory is nearly full, 0 MiB of 0 MiB are free; set ")


def test_it_is_in_the_status() -> None:
    """By the names of the API."""
    cache = KvCache(tokens=950, requests=1.5, utilization=0.87, used=0.3)
    memory = status_of(seen(cache, utilization=0.87, kv_tokens=1_000), {}, 0)["memory"]
    assert memory["kvTokensMeasured"] == 950
    assert memory["kvTokensDifferencePercent"] == -5
    assert (memory["kvRequestsMeasured"], memory["kvUsedMost"], memory["utilizationMeasured"]) == (1.5, 0.3, 0.87)
    assert memory["recommendation"].startswith("the KV cache is nearly too small")


def test_the_newest_window_of_each_quarter_of_the_cache_is_kept_and_a_fall_is_reported() -> None:
    """Of these pods only; the status has it as doctor reads it."""
    first = drafting(0.1, accepted=700.0)
    assert [each.used for each in measured(first, {}, 0).by_use] == [0.1]
    kept = {"acceptanceByCacheUse": [{"used": 0.2, "drafts": 500, "draftTokens": 2000, "acceptedTokens": 1500}]}
    assert [each.used for each in measured(first, before(first, kept), 0).by_use] == [0.1]
    fuller = drafting(0.9, accepted=700.0)
    both = measured(fuller, before(fuller, kept), 0)
    assert [each.used for each in both.by_use] == [0.2, 0.9]
    assert "acceptance length falls from 4.00 to 2.40 tokens per step" in (both.recommendation or "")
    assert measured(replace(fuller, revision="other"), before(fuller, kept), 0).recommendation is None
    memory = status_of(fuller, before(fuller, kept), 0)["memory"]
    assert memory["acceptanceByCacheUse"][0] == kept["acceptanceByCacheUse"][0]


def drafting(used: float, *, accepted: float) -> Findings:
    """A window of 500 drafts of four tokens with so much of the cache in use."""
    counted = {"drafts": 500.0, "draft_tokens": 2000.0, "accepted_tokens": accepted}
    made = seen(KvCache(used=used))
    return replace(
        made, judged=judged(evidence=make_evidence(kv_cache=KvCache(used=used), speculative=True, **counted))
    )
