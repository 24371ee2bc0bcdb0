"""Runs the tests that this machine can run, and prints what it could not run and why.

quick   `make test`: the pure tests, the API server's, and one story of each kind on the real node, side by side
rest    `make test-rest`: everything else, each time begun with another part; with `--minutes`, as much as fits
all     `make test-all`: both

A cluster that was not up before is taken down again. The exit code is 0 when nothing failed and nothing broke.
"""

import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from hack.test import budget, run
from hack.test.node import Node, why_none
from hack.test.parts import BESIDE, MORE, QUICK, REST, UNIT, WIRE, Needs
from hack.test.run import Result

app = typer.Typer(add_completion=False, no_args_is_help=True, help=__doc__)


@app.command()
def quick() -> None:
    """The main job, proved in minutes."""
    raise typer.Exit(_closed(_quick()))


@app.command()
def rest(
    minutes: Annotated[float | None, typer.Option(help="Parts that take longer are left out, and named.")] = None,
    first: Annotated[
        int | None, typer.Option(help="Which part is first; the number of commits where not given.")
    ] = None,
) -> None:
    """Everything that `quick` leaves out."""
    raise typer.Exit(_closed(_rest(minutes, first)))


@app.command("all")
def everything() -> None:
    """Both, without a limit."""
    raise typer.Exit(_closed([*_quick(), *_rest(None, 0)]))


def _quick() -> list[Result]:
    """The tests without a node beside those on it that compare no speeds: most of them wait more than they compute."""
    why, node = why_none(), Node()
    try:
        with ThreadPoolExecutor() as others:
            try:
                wire = others.submit(run.part_of_tests, WIRE, aside=True)
                beside = others.submit(_beside, node) if not why else None
                unit = run.part_of_tests(UNIT)
                results = [unit, wire.result(), *(beside.result() if beside else ())]
            except BaseException:
                run.stop()  # the pool waits for its threads, and they for what they have started
                raise
        if why:
            return [*results, *(Result(name=each.name, proves=each.proves, lost=why) for each in (*BESIDE, *QUICK))]
        stories = [node.tests(each) for each in QUICK]
        return [*results[:2], *node.made, *results[2:], *stories]
    finally:
        node.leave()


def _beside(node: Node) -> list[Result]:
    """Make the node, and run on it what may share the machine."""
    node.make()
    return [node.tests(each, aside=True) for each in BESIDE]


def _rest(minutes: float | None, first: int | None) -> list[Result]:
    begun, node, why = time.monotonic(), Node(), why_none()
    results: list[Result] = []
    try:
        for part in (MORE, *budget.turned(REST, _commits() if first is None else first)):
            spent = (time.monotonic() - begun) / 60
            if why and part.needs is not Needs.NOTHING:
                results.append(Result(name=part.name, proves=part.proves, lost=why))
            elif not budget.fits(part, spent, minutes):
                lost = f"not run: {spent:.0f} of {minutes:.0f} minutes are over; pytest {' '.join(part.words)}"
                results.append(Result(name=part.name, proves=part.proves, lost=lost))
            else:
                left = None if minutes is None else (minutes - spent) * 60
                results.append(run.part_of_tests(part, left) if part.needs is Needs.NOTHING else node.tests(part, left))
        return [*node.made, *results]
    finally:
        node.leave()


def _commits() -> int:
    """How many commits there are: another number for each change."""
    answer = subprocess.run(
        ["git", "rev-list", "--count", "HEAD"], cwd=run.ROOT, capture_output=True, text=True, check=False
    )
    return int(answer.stdout) if answer.returncode == 0 else 0


def _closed(results: list[Result]) -> int:
    """Print what each part proved, and last each test that failed, for a log is often cut at its begin; return the exit
    code.
    """
    table = Table("part", "time", "result", "what it proves")
    for each in results:
        minutes, seconds = divmod(round(each.seconds), 60)
        table.add_row(each.name, f"{minutes}:{seconds:02d}", each.outcome, each.proves)
    Console(width=160).print(table)
    passed, failed, skipped = (sum(getattr(each, part) for each in results) for part in ("passed", "failed", "skipped"))
    print(f"\n{passed} passed, {failed} failed, {skipped} skipped", flush=True)
    for broken in (broken for each in results for broken in each.broken):
        print(f"FAILED {broken}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    app()
