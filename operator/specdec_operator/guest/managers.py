"""Field ownership of a guest whose flags the guard has restored. Pure.

The API server writes down who changed a field last. While a flag is out, that is right: the owner's own server-side
apply with the flag is refused and names the guard. Once the flag is back, each other value of the owner would be
refused too, so the guard gives its fields up.
"""

from collections.abc import Mapping
from typing import Any

from specdec_operator.names import GUARD_MANAGER, TAKEN_OUT_ANNOTATION


def owns_fields(meta: Mapping[str, Any]) -> bool:
    """Whether the guard owns fields of an object, by its metadata."""
    return any(each.get("manager") == GUARD_MANAGER for each in meta.get("managedFields") or ())


def without_guard(live: Mapping[str, Any]) -> list[dict[str, Any]] | None:
    """The managedFields of an object without the guard's; None: it owns none, or something of it is taken out."""
    meta = live["metadata"]
    entries = meta.get("managedFields") or ()
    others = [dict(each) for each in entries if each.get("manager") != GUARD_MANAGER]
    if TAKEN_OUT_ANNOTATION in (meta.get("annotations") or {}) or len(others) == len(entries):
        return None
    without: list[dict[str, Any]] = [{}]
    return others or without  # an empty list would change nothing
