"""The guard's state as it is kept in status.guard, and back. Times are whole seconds in UTC."""

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from pydantic import ValidationError

from specdec_operator.api import status as api
from specdec_operator.guard.state import Phase, Rollback, State


def to_time(at: float) -> str:
    """RFC 3339 text of epoch seconds."""
    return datetime.fromtimestamp(math.floor(at), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def from_time(text: str) -> float:
    """Epoch seconds of an RFC 3339 text."""
    return datetime.fromisoformat(text).timestamp()


def state_of(status: Mapping[str, Any]) -> State | None:
    """The state that an earlier process left behind; None where there is none that can be read."""
    try:
        kept = api.GuardStatus.model_validate(status["guard"])
        return State(
            phase=Phase(kept.state),
            since=from_time(kept.since),
            speculation=kept.speculation or "",
            revision=kept.revision,
            wanted=kept.wanted,
            wanted_since=from_time(kept.wanted_since) if kept.wanted_since else 0.0,
            failures=kept.failures,
            rollback=_rollback(kept.rollback),
            would_roll_back=_rollback(kept.would_roll_back),
            rollbacks=kept.rollbacks,
            handled_retry=kept.handled_retry,
        )
    except (KeyError, ValueError, ValidationError):
        return None


def guard_fields(state: State) -> dict[str, Any]:
    """The fields of status.guard that hold the state."""
    return {
        "state": state.phase.value,
        "since": to_time(state.since),
        "speculation": state.speculation,
        "revision": state.revision,
        "wanted": state.wanted,
        "wanted_since": to_time(state.wanted_since) if state.wanted else None,
        "failures": state.failures,
        "rollback": _kept(state.rollback),
        "would_roll_back": _kept(state.would_roll_back),
        "rollbacks": state.rollbacks,
        "handled_retry": state.handled_retry,
    }


def _rollback(kept: api.Rollback | None) -> Rollback | None:
    return Rollback(reason=kept.reason, message=kept.message, at=from_time(kept.at)) if kept else None


def _kept(rollback: Rollback | None) -> api.Rollback | None:
    return api.Rollback(reason=rollback.reason, message=rollback.message, at=to_time(rollback.at)) if rollback else None
