"""The image in figures: its size, and what the runs of methods and faults say about its start."""

from __future__ import annotations

import json
import statistics
from typing import TYPE_CHECKING, Any

from hack import images
from hack.engine.faults import Layer
from hack.engine.page import FOLDER
from hack.images import tool

if TYPE_CHECKING:
    from collections.abc import Iterable


def image() -> dict[str, str]:
    """Return what was measured, by what it is. The files of the speeds and the faults must be there."""
    groups, faults = _found("bench")["groups"], _found("faults")["runs"]
    refused = [each["seconds"] for each in faults.values() if each["layer"] == Layer.PREFLIGHT]
    first = [group[0] for group in groups]
    up = [each for engines in first for each in engines.values()]
    return {
        "size of the cpu image": tool.choose().size(images.refs().runtime),
        "plain engine up and proven": _spread(
            (each["plain"]["ready_seconds"] for each in first if "plain" in each), ".0f"
        ),
        f"up and proven, {len(up)} starts of all methods": _spread((each["ready_seconds"] for each in up), ".0f"),
        "of that, the probe that passed": _spread((each["prove_seconds"] for each in up), ".2f"),
        f"refused by the preflight, {len(refused)} faults": _spread(refused, ".1f"),
    }


def _found(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    return found


def _spread(values: Iterable[float], form: str) -> str:
    """Return the median with the smallest and the largest."""
    known = sorted(values)
    return f"{statistics.median(known):{form}} s ({known[0]:{form}}-{known[-1]:{form}})"
