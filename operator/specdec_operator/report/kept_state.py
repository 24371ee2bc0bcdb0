"""The guard's state as status.guard kept it, and what of it is worth a write."""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError

from specdec_operator.api.kept import NOW
from specdec_operator.guard.baseline import Plain
from specdec_operator.guard.state import State
from specdec_operator.guard.statistics import TokenTime

_STATE: Final = TypeAdapter(State)


def kept_state(status: Mapping[str, Any], now: float = math.inf) -> State | None:
    """The state that an earlier process left behind; None where there is none that can be read.

    No moment of it is later than now: what waits for a time that a clock showed by mistake would stand still.
    """
    try:
        return _STATE.validate_python(status.get("guard"), context={NOW: now})
    except ValidationError:
        return None


def without_progress(state: State) -> State:
    """The state without what grows by itself: a difference here is worth a write at once."""
    failures = 0 if state.dry_run else state.failures  # what would be done is told: they count round and round
    plain = tuple(Plain(load=each.load, token_time=TokenTime()) for each in state.baseline)
    since = 0.0 if state.up else state.wanted_since  # a rollout of a thousand pods is no thousand writes
    state = replace(state, failures=failures, baseline=plain, wanted_since=since)
    return replace(state, judged=0.0, regret=0.0, up=0, unmeasured=0, pairs=())
