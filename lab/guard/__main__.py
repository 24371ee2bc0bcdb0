"""`make bench-guard`: how often the guard is wrong, and how soon it is right, printed, drawn and kept.

Simulated requests go through the windows, checks and states that the operator runs. Equal seeds give equal figures.
"""

import argparse
import json
import os
import pathlib
import sys
import time
from dataclasses import asdict
from typing import Any

from hack import machine
from rich import box
from rich.console import Console
from rich.table import Table

from lab.guard import figures, page
from lab.guard.plot import draw
from lab.guard.scenes import GUARD_SPEC, LEAST
from lab.guard.traffic import KINDS

_FOLDER = pathlib.Path(__file__).parents[2] / "docs" / "guard"
_ROUNDED = 5


def document(found: figures.GuardFigures, *, seed: int, seconds: float, workers: int) -> dict[str, Any]:
    """Everything, with what it was measured on and by which rule."""
    return {
        "origin": machine.origin(),
        "seed": seed,
        "seconds": round(seconds, 1),
        "workers": workers,
        "threshold": LEAST,
        "guard": GUARD_SPEC.model_dump(mode="json", by_alias=True, exclude_none=True),
        "traffic": [asdict(kind) for kind in KINDS],
        "holds_from": {
            kind.name: {
                "rollbacks": figures.alarms_hold_from(found, kind.name),
                "caught": figures.catches_hold_from(found, kind.name),
            }
            for kind in KINDS
        },
        "figures": _rounded(asdict(found)),
    }


def _rounded(value: Any) -> Any:
    match value:
        case dict():
            return {key: _rounded(each) for key, each in value.items()}
        case list() | tuple():
            return [_rounded(each) for each in value]
        case float():
            return round(value, _ROUNDED)
    return value


def tables(found: figures.GuardFigures) -> list[Table]:
    """What is printed."""
    kept = asdict(found)
    return [_table(each) for each in (*page.acceptance(kept), *page.speed(kept), *page.tables(kept["hours"]))]


def promises(found: figures.GuardFigures) -> list[str]:
    """From which volume on the two figures hold, one line for each kind of traffic."""
    alarms, caught = f"{100 * figures.MOST_ALARMS:g}", f"{100 * figures.LEAST_CAUGHT:g}"
    return [
        f"{kind.name}: rollbacks <= {alarms} % of windows {_from(figures.alarms_hold_from(found, kind.name))}; "
        f"caught >= {caught} % within {figures.LIMIT} windows {_from(figures.catches_hold_from(found, kind.name))}"
        for kind in KINDS
    ]


def _from(volume: float | None) -> str:
    return "at no volume tried" if volume is None else f"from {volume:g} requests a window"


def _table(words: page.Table) -> Table:
    made = Table(title=words.title, title_justify="left", box=box.SIMPLE_HEAD)
    first, *others = words.heads
    made.add_column(first)
    for name in others:
        made.add_column(name, justify="right")
    for row in words.rows:
        made.add_row(*row)
    return made


def main(arguments: list[str]) -> int:
    """Simulate and show; the goals are shown, not enforced."""
    parser = argparse.ArgumentParser(prog="python -m lab.guard", description=__doc__)
    parser.add_argument("--seed", type=int, default=6, help="where chance begins (default: 6)")
    parser.add_argument("--quick", action="store_true", help="a hundredth of it: to see that it runs")
    parser.add_argument("--into", type=pathlib.Path, default=_FOLDER, help="folder for figures.json and the pictures")
    parser.add_argument("--print", action="store_true", dest="only_print", help="print, and write nothing")
    asked = parser.parse_args(arguments)
    workers, begun = os.cpu_count() or 1, time.perf_counter()
    found = figures.simulate(figures.QUICK if asked.quick else figures.FULL, asked.seed, workers)
    seconds = time.perf_counter() - begun
    console = Console(width=120)
    for each in tables(found):
        console.print(each)
    for line in promises(found):
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    kept = document(found, seed=asked.seed, seconds=seconds, workers=workers)
    cpu = kept["origin"]["cpu"]
    console.print(
        f"seed {asked.seed}, {seconds:.0f} s with {workers} processes on {cpu}", markup=False, highlight=False
    )
    if not asked.only_print:
        asked.into.mkdir(parents=True, exist_ok=True)
        (asked.into / "figures.json").write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
        draw(found, asked.into)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
