"""Whether a status is worth a write. Pure."""

from collections.abc import Mapping
from typing import Any, Final

_RATE_STEP: Final = 0.02
_SPEED_STEP: Final = 0.05
_RATE_EVERY: Final = 60.0
_PROGRESS_EVERY: Final = 15.0
_LEARNT_EVERY: Final = 600.0
_GROWING: Final = frozenset(
    {"message", "judged", "baseline", "fewerTokens", "recommendation", "nextRetry", "wantedSince"}
)
"""Parts of status.guard that move with every window."""


def is_material(status: Mapping[str, Any], written: Mapping[str, Any] | None, *, since_written: float) -> bool:
    """Whether a decision moved, or a number did and the last write is old enough."""
    if written is None or _decisions(status) != _decisions(written):
        return True
    if since_written >= _PROGRESS_EVERY and status.get("artifacts") != written.get("artifacts"):
        return True
    if since_written >= _LEARNT_EVERY and _learnt(status) != _learnt(written):
        return True
    return since_written >= _RATE_EVERY and _moved(status, written)


def _moved(status: Mapping[str, Any], written: Mapping[str, Any]) -> bool:
    if abs(_number(status, "acceptance", "rate") - _number(written, "acceptance", "rate")) > _RATE_STEP:
        return True
    if _advised(status) != _advised(written):
        return True
    speed, old = (_number(each, "performance", "timePerOutputTokenMs") for each in (status, written))
    return abs(speed - old) > _SPEED_STEP * max(speed, old)


def _number(status: Mapping[str, Any], part: str, name: str) -> float:
    return float(status.get(part, {}).get(name, 0.0))


def _advised(status: Mapping[str, Any]) -> Any:
    return status.get("guard", {}).get("recommendation", {}).get("tokens")


def _learnt(status: Mapping[str, Any]) -> Any:
    return status.get("guard", {}).get("baseline")


def _decisions(status: Mapping[str, Any]) -> dict[str, Any]:
    """A status without the numbers that move all the time."""
    written = status.get("guard", {})
    growing = _GROWING | {"failures"} if written.get("would") else _GROWING
    guard = {key: value for key, value in written.items() if key not in growing}
    conditions = [(c["type"], c["status"], c["reason"]) for c in status.get("conditions", ())]
    fixed = {key: status.get(key) for key in ("observedGeneration", "phase", "reason", "serving", "memory", "kserve")}
    artifacts = [(each["name"], each["folder"], each["state"], each["attempt"]) for each in status.get("artifacts", ())]
    return {
        **fixed,
        "artifacts": artifacts,
        "guard": guard,
        "loads": [each["load"] for each in _learnt(status) or ()],
        "conditions": conditions,
        "measured": ("acceptance" in status, "performance" in status),
    }
