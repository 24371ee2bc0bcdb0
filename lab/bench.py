"""`make bench`: how long `specdec validate` takes, beside a bare Python, on the machine that it runs on.

One command, one machine, runs interleaved; medians with quartiles. The goals are the project's own: one file in 150 ms
with the interpreter's start, 1,000 documents in 2 s. Bytecode is there before the first run, as after `pip install`.
"""

import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass

from hack import machine
from rich.console import Console
from rich.table import Table

_SAMPLE = pathlib.Path(__file__).parents[1] / "manifests" / "samples" / "demo-speculative.yaml"
_RUNS = 15
_MANY = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Timed:
    """Wall times of one command, in milliseconds. goal: at most, None where there is none."""

    name: str
    goal: float | None
    taken: tuple[float, ...]


def timed(command: list[str], bytecode: pathlib.Path) -> float:
    """Milliseconds of wall time, start of the interpreter included. Raises CalledProcessError when it fails."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    begun = time.perf_counter()
    env = {**kept, "PYTHONPYCACHEPREFIX": str(bytecode)}
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=env)
    return 1000 * (time.perf_counter() - begun)


def measure(folder: pathlib.Path) -> list[Timed]:
    """Every command, in turns, so that a noisy moment hits all of them."""
    many = folder / "many.yaml"
    many.write_text("\n---\n".join([_SAMPLE.read_text(encoding="utf-8")] * _MANY), encoding="utf-8")
    validate = [str(pathlib.Path(sys.executable).parent / "specdec"), "validate"]
    commands = {
        "python -c pass": (None, [sys.executable, "-c", "pass"]),
        "specdec validate, 1 document": (150.0, [*validate, str(_SAMPLE)]),
        f"specdec validate, {_MANY} documents": (2000.0, [*validate, str(many)]),
    }
    rounds = [
        {name: timed(command, folder / "bytecode") for name, (_, command) in commands.items()} for _ in range(_RUNS + 1)
    ][1:]
    return [
        Timed(name=name, goal=goal, taken=tuple(each[name] for each in rounds)) for name, (goal, _) in commands.items()
    ]


def table(found: list[Timed]) -> Table:
    """Medians with quartiles, and against the bare interpreter."""
    made = Table("command", "median", "quartiles", "goal", "against python")
    bare = statistics.median(found[0].taken)
    for each in found:
        low, middle, high = statistics.quantiles(each.taken, n=4)
        goal = f"{each.goal:.0f} ms" if each.goal else ""
        made.add_row(each.name, f"{middle:.0f} ms", f"{low:.0f} - {high:.0f} ms", goal, f"{middle / bare:.1f}x")
    return made


def main() -> int:
    """Measure and show; goals are shown, not enforced: machines differ."""
    with tempfile.TemporaryDirectory() as folder:
        found = measure(pathlib.Path(folder))
    console = Console()
    console.print(table(found))
    host = machine.describe()
    where = f"{host.cores} cores, {host.memory_gib} GiB, {host.cpu}"
    console.print(f"{_RUNS} runs of each, interleaved, on {where}", markup=False, highlight=False)
    return 0


if __name__ == "__main__":
    sys.exit(main())
