"""`python -m lab.scale.sharded`: more services than one process is made for, on one process and on shards.

All processes share the machine, with etcd, kube-apiserver and the stand-ins: shards divide memory and a restart, and on
a machine of few cores no more than that.
"""

import argparse
import asyncio
import json
import pathlib
import signal
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from hack.machine import origin
from tests.wire.operator import OperatorProcess

from lab.scale.fleet import INTERVAL
from lab.scale.parts import engines, reconciled, until
from lab.scale.process import taken
from lab.scale.stage import Bench, bench_of
from specdec_operator.leadership.holding import LOST

_NAMESPACES = 40
_PATIENCE = 3600.0
_STEADY = 60.0
_BACK_OFF = 10.0
"""Seconds after which the kubelet starts a container again that ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardedRow:
    """What N services on so many processes took. Seconds, MiB, cores; of each process where there are several.

    None, and empty: it was not reached in the time that was given.
    all_made: from the start until each InferenceService is there; all_watching: until each service is watched.
    cpu_cores, rss_mb, apiserver_cores, reads_missed_share: while nothing changes. lost: one process was killed; until
    the others had looked at all its services, and until it was back and all services were looked at again. With one
    process the second alone. ended: how often a process lost its Lease, ended and was started again. errors: lines of
    warnings and errors in the logs.
    """

    services: int
    processes: int
    all_made_seconds: float | None = None
    all_watching_seconds: float | None = None
    cpu_cores: list[float] = field(default_factory=list)
    rss_mb: list[float] = field(default_factory=list)
    apiserver_cores: float | None = None
    reads_missed_share: float | None = None
    lost_seconds: float | None = None
    back_seconds: float | None = None
    ended: int = 0
    errors: int = 0


async def _looked_at(operators: tuple[OperatorProcess, ...], size: int) -> bool:
    return sum([await reconciled(each) for each in operators]) == size


async def _all_made(bench: Bench, begun: float, patience: float) -> dict[str, Any]:
    async def made() -> bool:
        return len(bench.fleet.changed) == bench.fleet.size

    await until("every InferenceService is made", made, patience)
    return {"all_made_seconds": time.monotonic() - begun}


async def _all_watched(bench: Bench, begun: float, patience: float) -> dict[str, Any]:
    async def watched() -> bool:
        return (await bench.fleet.phases())["Watching"] == bench.fleet.size

    await until("every service is watched", watched, patience, every=10.0)
    return {"all_watching_seconds": time.monotonic() - begun}


async def _steady(bench: Bench, _: float, __: float) -> dict[str, Any]:
    await asyncio.sleep(2 * INTERVAL)
    pids = [each.pid for each in bench.operators]
    before, asked, server = [taken(pid) for pid in pids], await engines("GET", "/stand"), taken(bench.apiserver)
    await asyncio.sleep(_STEADY)
    after, now = [taken(pid) for pid in pids], await engines("GET", "/stand")
    due = bench.fleet.size * _STEADY / INTERVAL
    return {
        "cpu_cores": [round((b.cpu - a.cpu) / _STEADY, 3) for a, b in zip(before, after, strict=True)],
        "rss_mb": [round(each.rss, 1) for each in after],
        "apiserver_cores": (taken(bench.apiserver).cpu - server.cpu) / _STEADY,
        "reads_missed_share": max(0.0, 1 - (now["asked"] - asked["asked"]) / due),
    }


async def _lose_one(bench: Bench, _: float, patience: float) -> dict[str, Any]:
    lost, *others = bench.operators
    await lost.stop(signal.SIGKILL)
    moved = None
    if others:
        moved = await until("all moved", lambda: _looked_at((*others,), bench.fleet.size), patience)
    begun = time.monotonic()
    await lost.start()

    async def back() -> bool:
        return await reconciled(lost) > 0 and await _looked_at(bench.operators, bench.fleet.size)

    await until("all is back", back, patience)
    return {"lost_seconds": moved, "back_seconds": time.monotonic() - begun}


async def measure(services: int, shards: int, folder: pathlib.Path, patience: float) -> ShardedRow:
    """One run. folder: empty, for keys, logs and the store. patience: seconds for each part."""
    row = ShardedRow(services=services, processes=shards)
    async with bench_of(services, folder, shards=shards, namespaces=_NAMESPACES) as bench:
        begun = time.monotonic()
        await asyncio.gather(*(each.start() for each in bench.operators))
        async with _kept_running(bench.operators) as ended:
            try:
                for part in (_all_made, _all_watched, _steady, _lose_one):
                    row = replace(row, **await part(bench, begun, patience))
                    print(f"  {part.__name__} after {time.monotonic() - begun:.0f} s, {len(ended)} ended", flush=True)
            except TimeoutError as error:
                print(f"  {error}", flush=True)
        return replace(row, ended=len(ended), errors=sum(_errors(each.log) for each in bench.operators))


@asynccontextmanager
async def _kept_running(operators: tuple[OperatorProcess, ...]) -> AsyncIterator[list[OperatorProcess]]:
    """Starts a process again that lost its Lease, as a kubelet does; yields a list of these."""
    ended = list[OperatorProcess]()

    async def keep(operator: OperatorProcess) -> None:
        while await operator.ended(_PATIENCE) == LOST:
            ended.append(operator)
            await asyncio.sleep(_BACK_OFF)
            await operator.start()

    keeping = [asyncio.create_task(keep(each)) for each in operators]
    try:
        yield ended
    finally:
        for each in keeping:
            each.cancel()
        await asyncio.gather(*keeping, return_exceptions=True)


def _errors(log: pathlib.Path) -> int:
    return sum('"severity": "error"' in line or '"severity": "warn"' in line for line in log.read_text().splitlines())


def main() -> None:
    """Runs each number of processes on a cluster of its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--services", type=int, default=10_000)
    parser.add_argument("--shards", default="1,4", help="numbers of processes")
    parser.add_argument(
        "--out", type=pathlib.Path, help="JSON file; other rows, and `breaks`, which is by hand, are kept"
    )
    parser.add_argument("--patience", type=float, default=_PATIENCE, help="seconds for each part")
    found = parser.parse_args()
    kept: dict[str, Any] = (
        json.loads(found.out.read_text()) if found.out and found.out.exists() else {"breaks": "", "rows": []}
    )
    for shards in map(int, found.shards.split(",")):
        with tempfile.TemporaryDirectory() as folder:
            row = asyncio.run(measure(found.services, shards, pathlib.Path(folder), found.patience))
        print(json.dumps(asdict(row), indent=1), flush=True)
        others = [each for each in kept["rows"] if (each["services"], each["processes"]) != (found.services, shards)]
        made = asdict(row) | {"origin": origin()}  # rows may be of different days
        kept["rows"] = sorted([*others, made], key=lambda each: (each["services"], each["processes"]))
        if found.out:
            found.out.write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    main()
