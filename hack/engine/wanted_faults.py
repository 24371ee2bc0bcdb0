"""The runs of the fault table: a broken copy of the models for each fault, and the flags that meet it."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

from hack.engine import wanted
from hack.models import store

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from hack.engine.faults import Fault


def prepare(faults: Iterable[Fault], models: Path, scratch: Path) -> list[dict[str, Any]]:
    """Break a copy of the models for each fault; return what to run."""
    return [_prepared(number, fault, models, scratch) for number, fault in enumerate(faults)]


def _prepared(number: int, fault: Fault, models: Path, scratch: Path) -> dict[str, Any]:
    method, folder = fault.asked(), scratch / f"fault-{number:02}"
    shutil.rmtree(folder, ignore_errors=True)
    for name in {method.target, method.draft} - {None}:
        shutil.copytree(models / str(name), folder / str(name))
    if fault.how is not None:
        broken = method.target if fault.breaks == "target" else method.draft
        fault.how(folder / str(broken))
    store.open_to_pods(folder)
    return {"name": fault.what, "flags": [*wanted.flags(method, folder), *fault.flags], "tokens": fault.tokens}
