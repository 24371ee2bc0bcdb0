"""When a service is looked at again if nothing wakes it."""

from typing import Any

import pytest
from tests.unit.builders import limits, make_reduction, make_rollback, make_state, policy

from specdec_operator.api.guard import Guard
from specdec_operator.errors import Unavailable
from specdec_operator.guard.state import Phase
from specdec_operator.reconcile.memory import SamplingPlan, ServiceMemory
from specdec_operator.reconcile.requeue import RESYNC, RETRY, next_due, retry_after

NOW = 100.0
PLAN = SamplingPlan(guard=Guard(), thresholds=limits(), revision="r1")
AGAIN = {"retry_after": 60.0, "retry_limit": 1}


def seconds(phase: Phase, *, since: float = 0.0, sampled: bool = False, **more: Any) -> float:
    """Seconds to the next full reconcile at 100 s; warm-up is 4 s. sampled: whether the pods are read meanwhile."""
    state = make_state(phase, since=since, **{key: more.pop(key) for key in ("rollback", "reduced") if key in more})
    memory = ServiceMemory(sampling=PLAN if sampled else None)
    return next_due(state, memory, policy(**more), NOW) - NOW


@pytest.mark.parametrize(
    ("phase", "known", "expected"),
    [
        (Phase.WATCHING, {"sampled": True}, RESYNC),
        (Phase.WATCHING, {}, RETRY),
        (Phase.WARMING_UP, {"since": 98.0}, 2.0),
        (Phase.WARMING_UP, {"since": 90.0}, RETRY),
        (Phase.ROLLING_OUT, {}, RETRY),
        (Phase.RESPONDING, {}, RETRY),
        (Phase.MEASURING_BASELINE, {"since": 99.0}, 3.0),
        (Phase.MEASURING_BASELINE, {}, RETRY),
        (Phase.MEASURING_BASELINE, {"sampled": True}, RESYNC),
        (Phase.ROLLED_BACK, {"since": 99.0}, 3.0),
        (Phase.ROLLED_BACK, {}, RESYNC),
        (Phase.ROLLED_BACK, {"sampled": True}, RESYNC),
        (Phase.SERVING, {"since": 99.0}, 3.0),
        (Phase.SERVING, {}, RESYNC),
        (Phase.STALLED, {}, RESYNC),
        (Phase.ROLLED_BACK, {"rollback": make_rollback(at=70.0)} | AGAIN, 30.0),
        (Phase.ROLLED_BACK, {"rollback": make_rollback(at=10.0)} | AGAIN, -30.0),
        (Phase.ROLLED_BACK, {"rollback": make_rollback(at=70.0), "held": True} | AGAIN, RESYNC),
        (Phase.ROLLED_BACK, {"rollback": make_rollback(at=70.0)}, RESYNC),
        (Phase.WATCHING, {"reduced": make_reduction(at=40.5), "sampled": True} | AGAIN, 0.5),
        (Phase.STALLED, {"rollback": make_rollback(at=10.0)} | AGAIN, RESYNC),
    ],
)
def test_the_next_full_reconcile_is_when_something_is_due(phase: Phase, known: dict[str, Any], expected: float) -> None:
    """The end of a warm-up, a retry, or what is on its way; never longer than five minutes."""
    assert seconds(phase, **known) == pytest.approx(expected)


@pytest.mark.parametrize(("asked", "seconds"), [(0.0, RETRY), (1.0, RETRY), (30.0, 30.0), (86400.0, RESYNC)])
def test_a_server_that_asks_for_patience_gets_it_within_reason(asked: float, seconds: float) -> None:
    """The operator respects Retry-After if it is longer than our own pause, but no server stops a service for a day."""
    assert retry_after(Unavailable("ApiServerRefused", "429", after=asked)) == seconds
