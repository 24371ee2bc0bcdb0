"""Figures of a node test for the docs: kept where `make bench-memory` asks for it, by the variable SPECDEC_MEASURED."""

import json
import os
import pathlib
from typing import Any

from hack.machine import origin


def sized(whole: int, *, usually: int) -> int:
    """How much a test does: the whole where figures are kept, and less in a usual run."""
    return whole if os.environ.get("SPECDEC_MEASURED") else usually


def keep(name: str, **figures: Any) -> None:
    """Write a file of figures with the commit, the date and the machine; nothing in a usual run."""
    if folder := os.environ.get("SPECDEC_MEASURED"):
        found = {"origin": origin(), **figures}
        pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
        (pathlib.Path(folder) / f"{name}.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
