"""Runs the tests that this machine can run, and prints what it could not run and why.

quick   `make test`: the pure tests, the API server's, and one story of each kind on the real node
all     `make test-all`: every test

A cluster that was not up before is taken down again. The exit code is 0 when nothing failed and nothing broke.
"""

from concurrent.futures import ThreadPoolExecutor

import typer
from rich.console import Console
from rich.table import Table

from hack.test import run
from hack.test.node import SharedCluster, why_none
from hack.test.parts import ALL, QUICK, LanePlan, PartNeeds, SuitePart
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
    """One part after the other. why: this machine has no node."""
    results = []
    for part in parts:
        if part.needs is PartNeeds.NOTHING:
            results.append(run.part_of_tests(part, aside=aside))
        elif why:
            results.append(PartResult(name=part.name, proves=part.proves, lost=why))
        else:
            results.append(node.tests(part, aside=aside))
    return results


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
