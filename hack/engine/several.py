"""Does several runs at once, one for each core, and writes down what came of each as soon as it is known."""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def each(runs: list[dict[str, Any]], do: Callable[[dict[str, Any]], dict[str, Any]], out: Path) -> dict[str, Any]:
    """Return what `do` makes of each run, by its name, in the order of the runs."""
    found: dict[str, Any] = {}
    with ThreadPoolExecutor(max_workers=min(2, os.cpu_count() or 1)) as pool:
        under_way = {pool.submit(do, run): run["name"] for run in runs}
        for done in as_completed(under_way):
            found[under_way[done]] = done.result()
            out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return {run["name"]: found[run["name"]] for run in runs}
