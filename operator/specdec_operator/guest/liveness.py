"""Whether the liveness probe of a guest's engine notices that the engine hangs."""

from collections.abc import Mapping
from typing import Any, Final

_STILL_ANSWERED: Final = frozenset({"", "/health", "/ping", "/version", "/metrics", "/load", "/v1/models"})
"""Paths that vLLM answers with 200 while its engine hangs."""
HANG_UNNOTICED: Final = "no liveness probe notices an engine that hangs"


def notices_hangs(container: Mapping[str, Any]) -> bool:
    """Whether it may: it runs a command, or asks for something that needs the engine. Without one, nothing does."""
    probe = container.get("livenessProbe")
    if not isinstance(probe, Mapping):
        return False
    if isinstance(probe.get("exec"), Mapping):
        return True
    asked = probe.get("httpGet")
    if not isinstance(asked, Mapping):
        return False
    return str(asked.get("path", "")).partition("?")[0].rstrip("/") not in _STILL_ANSWERED


def unnoticed_text(name: str) -> str:
    """What a guest lacks, why, and what to do."""
    return (
        f"container {name}: {HANG_UNNOTICED}: vLLM answers /health with 200 all the time, so only a guard in mode "
        "Enforce ends it; add a livenessProbe that generates (docs/runtime.md#the-liveness-probe)"
    )
