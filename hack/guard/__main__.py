"""`make bench-guard`: how often the guard is wrong, and how soon it is right, printed, drawn and kept.

Simulated requests go through the windows, checks and states that the operator runs. Equal seeds give equal figures.
"""

import argparse
import json
import os
import pathlib
import sys
import time

from rich.console import Console

from hack.guard import report
from hack.guard.figures import FULL, QUICK, simulate
from hack.guard.plot import draw

_FOLDER = pathlib.Path(__file__).parents[2] / "docs" / "guard"


def main(arguments: list[str]) -> int:
    """Simulate and show; the goals are shown, not enforced."""
    parser = argparse.ArgumentParser(prog="python -m hack.guard", description=__doc__)
    parser.add_argument("--seed", type=int, default=6, help="where chance begins (default: 6)")
    parser.add_argument("--quick", action="store_true", help="a hundredth of it: to see that it runs")
    parser.add_argument("--into", type=pathlib.Path, default=_FOLDER, help="folder for figures.json and the pictures")
    parser.add_argument("--print", action="store_true", dest="only_print", help="print, and write nothing")
    asked = parser.parse_args(arguments)
    workers, begun = os.cpu_count() or 1, time.perf_counter()
    found = simulate(QUICK if asked.quick else FULL, asked.seed, workers)
    seconds = time.perf_counter() - begun
    console = Console(width=120)
    for each in report.tables(found):
        console.print(each)
    for line in report.promises(found):
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    kept = report.document(found, seed=asked.seed, seconds=seconds, workers=workers)
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
