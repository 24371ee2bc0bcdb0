"""Runs the tests that this machine can run, and prints what it could not run and why.

quick   `make test`: the pure tests, the API server's, and one story of each kind on the real node
all     `make test-all`: every test
rest    `make test-rest`: what quick leaves out, one part after the other, each time begun with another one; with
        `--minutes`, as much as fits

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
from hack.test.node import SharedCluster, why_none
from hack.test.parts import ALL, QUICK, REST, LanePlan, PartNeeds, SuitePart
from hack.test.run import PartResult

app = typer.Typer(add_completion=False, no_args_is_help=True, help=__doc__)


@app.command()
def quick() -> None:
    """The main job, proved in minutes."""
    raise typer.Exit(_closed(_results(QUICK)))


@app.command("all")
def everything() -> None:
    """Every test."""
    raise typer.Exit(_closed(_results(ALL)))


@app.command()
def rest(
    minutes: Annotated[float | None, typer.Option(help="Parts that take longer are left out, and named.")] = None,
    first: Annotated[
        int | None, typer.Option(help="Which part is first; the number of commits where not given.")
    ] = None,
) -> None:
    """What `quick` leaves out."""
    raise typer.Exit(_closed(_rest(minutes, first)))


def _results(plan: LanePlan) -> list[PartResult]:
    """The lanes side by side, the first one in this thread, which Ctrl-C reaches; then the parts that run alone."""
    why, node = why_none(), SharedCluster()
    try:
        with ThreadPoolExecutor() as others:
            try:
                preparing = others.submit(node.make) if not why else None
                lanes = [others.submit(_lane, lane, node, why, aside=True) for lane in plan.lanes[1:]]
                results = _lane(plan.lanes[0], node, why, aside=False)
                results += [each for lane in lanes for each in lane.result()]
                if preparing:
                    preparing.result()
            except BaseException:
                run.stop()  # the pool waits for its threads, and they for what they have started
                raise
        return [*node.made, *results, *_lane(plan.alone, node, why, aside=False)]
    finally:
        node.leave()


def _lane(parts: tuple[SuitePart, ...], node: SharedCluster, why: str, *, aside: bool) -> list[PartResult]:
    """One part after the other."""
    return [_ran(part, node, why, aside=aside) for part in parts]


def _rest(minutes: float | None, first: int | None) -> list[PartResult]:
    begun, node, why = time.monotonic(), SharedCluster(), why_none()
    results: list[PartResult] = []
    try:
        for part in budget.turned(REST, _commits() if first is None else first):
            spent = (time.monotonic() - begun) / 60
            if not budget.fits(part, spent, minutes):
                lost = f"not run: {spent:.0f} of {minutes:.0f} minutes are over; pytest {' '.join(part.words)}"
                results.append(PartResult(name=part.name, proves=part.proves, lost=lost))
                continue
            if part.needs is not PartNeeds.NOTHING and not why and not node.made:
                node.make()
            left = None if minutes is None else minutes * 60 - (time.monotonic() - begun)
            results.append(_ran(part, node, why, left))
        return [*node.made, *results]
    finally:
        node.leave()


def _ran(
    part: SuitePart, node: SharedCluster, why: str, seconds: float | None = None, *, aside: bool = False
) -> PartResult:
    """What came of one part. why: this machine has no node. seconds: after which the part is interrupted."""
    if part.needs is PartNeeds.NOTHING:
        return run.part_of_tests(part, seconds, aside=aside)
    if why:
        return PartResult(name=part.name, proves=part.proves, lost=why)
    return node.tests(part, seconds, aside=aside)


def _commits() -> int:
    """How many commits there are: another number for each change."""
    answer = subprocess.run(
        ["git", "rev-list", "--count", "HEAD"], cwd=run.ROOT, capture_output=True, text=True, check=False
    )
    return int(answer.stdout) if answer.returncode == 0 else 0


def _closed(results: list[PartResult]) -> int:
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
