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

from rich import box
from rich.console import Console
from rich.table import Table

from hack import machine
from hack.guard import figures, page
from hack.guard.plot import draw
from hack.guard.rules import RULES
from hack.guard.scenes import GUARD_SPEC, LEAST
from hack.guard.traffic import KINDS

_FOLDER = pathlib.Path(__file__).parents[2] / "docs" / "guard"
_ROUNDED = 5


def document(found: figures.Figures, *, seed: int, seconds: float, workers: int) -> dict[str, Any]:
    """Everything, with what it was measured on and by which rule."""
    return {
        "machine": asdict(machine.describe()),
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


def tables(found: figures.Figures) -> list[Table]:
    """What is printed."""
    return [
        _alarms(found),
        _catches(found),
        _delays("from the onset to the decision, bursty traffic: acceptance", found.acceptance_delays),
        _delays("from the onset to the decision, bursty traffic: speedup.min", found.speed_delays),
        *(_of_words(each) for each in page.tables(asdict(found.hours))),
    ]


def _of_words(table: page.Table) -> Table:
    made = _table(table.title, *table.heads)
    for row in table.rows:
        made.add_row(*row)
    return made


def promises(found: figures.Figures) -> list[str]:
    """From which volume on the two figures hold, one line for each kind of traffic."""
    alarms, caught = f"{100 * figures.MOST_ALARMS:g}", f"{100 * figures.LEAST_CAUGHT:g}"
    return [
        f"{kind.name}: rollbacks <= {alarms} % of windows {_from(figures.alarms_hold_from(found, kind.name))}; "
        f"caught >= {caught} % within {figures.LIMIT} windows {_from(figures.catches_hold_from(found, kind.name))}"
        for kind in KINDS
    ]


def _from(volume: float | None) -> str:
    return "at no volume tried" if volume is None else f"from {volume:g} requests a window"


def _alarms(found: figures.Figures) -> Table:
    title = f"{100 * figures.ABOVE:g} points above the threshold: rollbacks, % of windows"
    made = _table(title, "traffic", "requests a window", "windows", *RULES, "truly below, % of time")
    for each in found.alarms:
        shares = [f"{100 * each.a_window[rule]:.2f}" for rule in RULES]
        made.add_row(each.kind, f"{each.volume:g}", str(each.windows), *shares, f"{100 * each.low:.1f}")
    return made


def _catches(found: figures.Figures) -> Table:
    limits = f"{figures.LIMIT} ({2 * figures.LIMIT})"
    title = f"{-100 * figures.BELOW:g} points below the threshold: caught within {limits} windows, % of services"
    made = _table(title, "traffic", "requests a window", "services", *RULES)
    for each in found.catches:
        shares = [f"{100 * each.within_limit[rule]:.1f} ({100 * each.within_twice[rule]:.1f})" for rule in RULES]
        made.add_row(each.kind, f"{each.volume:g}", str(each.services), *shares)
    return made


def _delays(title: str, delays: tuple[figures.Delay, ...]) -> Table:
    shares = (f"within {figures.LIMIT + 1}, %", "ever, %", "before, %")
    made = _table(f"{title}; windows", "drifts to", "requests a window", "services", "median", *shares)
    for each in delays:
        middle = "-" if each.median is None else f"{each.median:.1f}"
        ever = f"{100 * len(each.windows) / each.of:.1f}"
        early = f"{100 * each.early / each.of:.1f}"
        made.add_row(each.name, f"{each.volume:g}", str(each.of), middle, f"{100 * each.in_time:.1f}", ever, early)
    return made


def _table(title: str, first: str, *others: str) -> Table:
    made = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD)
    made.add_column(first)
    for name in others:
        made.add_column(name, justify="right")
    return made


def main(arguments: list[str]) -> int:
    """Simulate and show; the goals are shown, not enforced."""
    parser = argparse.ArgumentParser(prog="python -m hack.guard", description=__doc__)
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
    host = kept["machine"]
    console.print(
        f"seed {asked.seed}, {seconds:.0f} s with {workers} processes on {host['cpu']}", markup=False, highlight=False
    )
    if not asked.only_print:
        asked.into.mkdir(parents=True, exist_ok=True)
        (asked.into / "figures.json").write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
        draw(found, asked.into)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
