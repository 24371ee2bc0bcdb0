"""Clocks that are set: no wait becomes shorter or longer than it is, and nothing stands still."""

import time
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest
from tests.unit.builders import make_failure, make_good, make_rollback, make_state, status_with

from specdec_operator.app.handlers import App
from specdec_operator.guard.state import Phase
from specdec_operator.process.clock import SteadyClock
from specdec_operator.report.guard_status import kept_state

if TYPE_CHECKING:
    from specdec_operator.app.services import Services
    from specdec_operator.reconcile.queue import WorkQueue

SETS = (3600.0, -3600.0, 86400.0, -86400.0)
"""Seconds by which a machine's clock is set in these tests."""


@pytest.mark.parametrize("by", SETS)
def test_a_clock_that_is_set_changes_no_span(by: float) -> None:
    """Ten seconds are ten seconds; where it begins is the machine's time at the start."""
    wall, real = 1_000_000.0, 50.0
    clock = SteadyClock(wall=lambda: wall, monotonic=lambda: real)
    assert clock() == wall
    begun, wall, real = clock(), wall + by, real + 10
    assert clock() - begun == 10


@pytest.mark.parametrize("by", [3600.0, 86400.0])
def test_a_kept_time_that_is_yet_to_come_is_taken_as_now(by: float) -> None:
    """The clock went back while the operator was away: what is waited for lasts its time again, and not `by` more."""
    late = 1000.0 + by
    rollback, failures = make_rollback(at=late, good=make_good(at=late)), (make_failure(at=late),)
    times = {"since": late, "wanted_since": late, "judged": late, "doubted": late}
    kept = make_state(Phase.ROLLED_BACK, rollback=rollback, pod_failures=failures, **times)
    status = status_with(kept)
    state = kept_state(status, 1000.0)
    assert state is not None
    assert state.rollback is not None
    assert state.rollback.good is not None
    assert {getattr(state, name) for name in times} == {1000.0}
    assert {each.at for each in (state.rollback, state.rollback.good, *state.pod_failures)} == {1000.0}
    assert kept_state(status, late) == kept


def test_a_clock_that_is_set_hangs_no_operator(monkeypatch: pytest.MonkeyPatch) -> None:
    """/healthz counts real seconds: else the kubelet restarted every operator whose clock is put right."""
    services = cast("Services", SimpleNamespace(reconciled=time.monotonic(), new=0))
    queue = cast("WorkQueue", ["one"])
    nothing = cast("Any", None)
    app = App(services=services, stores=nothing, queue=queue, inventory=nothing, owns=lambda _: True)
    late = time.time() + 3600
    monkeypatch.setattr(time, "time", lambda: late)
    assert app.health().idle < 60
    assert not app.health().hangs
