"""When a loop looks again if nothing wakes it."""

from typing import Any

import pytest

from specdec_operator.control.memory import Memory
from specdec_operator.control.pace import RESYNC, RETRY, seconds_to_next, seconds_to_retry
from specdec_operator.errors import Unavailable
from specdec_operator.guard.state import Phase
from specdec_operator.guard.watching import Watched
from specdec_operator.guard.window import opened
from tests.unit.builders import make_reduction, make_rollback, make_state, policy

NOW = 100.0
AGAIN = {"retry_after": 60.0, "retry_limit": 1}


def seconds(phase: Phase, *, since: float = 0.0, due: float | None = None, looks: bool = False, **more: Any) -> float:
    """Seconds to the next turn at 100 s; warm-up is 4 s. due: when the pods are to be read next."""
    state = make_state(phase, since=since, **{key: more.pop(key) for key in ("rollback", "reduced") if key in more})
    memory = Memory(watched=None if due is None else Watched(window=opened(0.0), due=due))
    return seconds_to_next(state, memory, policy(**more), looks=looks, now=NOW)


@pytest.mark.parametrize(
    ("phase", "known", "expected"),
    [
        (Phase.WATCHING, {"looks": True, "due": 101.5}, 1.5),
        (Phase.WATCHING, {"looks": True, "due": 99.0}, 0.0),
        (Phase.WATCHING, {"looks": True}, 0.0),
        (Phase.WATCHING, {}, RETRY),
        (Phase.WARMING_UP, {"since": 98.0}, 2.0),
        (Phase.WARMING_UP, {"since": 90.0}, RETRY),
        (Phase.ROLLING_OUT, {}, RETRY),
        (Phase.RESPONDING, {}, RETRY),
        (Phase.MEASURING_BASELINE, {"since": 99.0}, 3.0),
        (Phase.MEASURING_BASELINE, {}, RETRY),
        (Phase.MEASURING_BASELINE, {"looks": True, "due": 101.0}, 1.0),
        (Phase.ROLLED_BACK, {"since": 99.0}, 3.0),
        (Phase.ROLLED_BACK, {}, RESYNC),
        (Phase.ROLLED_BACK, {"looks": True, "due": 102.0}, 2.0),
        (Phase.SERVING, {"since": 99.0}, 3.0),
        (Phase.SERVING, {}, RESYNC),
        (Phase.STALLED, {}, RESYNC),
        (Phase.ROLLED_BACK, {"rollback": make_rollback(at=70.0)} | AGAIN, 30.0),
        (Phase.ROLLED_BACK, {"rollback": make_rollback(at=10.0)} | AGAIN, 0.0),
        (Phase.ROLLED_BACK, {"rollback": make_rollback(at=70.0), "held": True} | AGAIN, RESYNC),
        (Phase.ROLLED_BACK, {"rollback": make_rollback(at=70.0)}, RESYNC),
        (Phase.WATCHING, {"reduced": make_reduction(at=40.5), "looks": True, "due": 102.0} | AGAIN, 0.5),
        (Phase.STALLED, {"rollback": make_rollback(at=10.0)} | AGAIN, RESYNC),
    ],
)
def test_the_loop_sleeps_until_something_is_due(phase: Phase, known: dict[str, Any], expected: float) -> None:
    """A reading, the end of a warm-up, a retry, or what is on its way; never longer than five minutes."""
    assert seconds(phase, **known) == pytest.approx(expected)


@pytest.mark.parametrize(("asked", "seconds"), [(0.0, RETRY), (1.0, RETRY), (30.0, 30.0), (86400.0, RESYNC)])
def test_a_server_that_asks_for_patience_gets_it_within_reason(asked: float, seconds: float) -> None:
    """Retry-After is heeded where it is longer than our own pause, but no server puts a service to sleep for a day."""
    assert seconds_to_retry(Unavailable("ApiServerRefused", "429", after=asked)) == seconds
