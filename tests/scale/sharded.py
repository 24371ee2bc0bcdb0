"""`python -m tests.scale.sharded`: more services than one process is made for, on one process and on shards.

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
from dataclasses import asdict, dataclass
from datetime import UTC, datetime

from tests.scale.fleet import INTERVAL
from tests.scale.parts import engines, reconciled, until
from tests.scale.process import taken
from tests.scale.stage import Bench, bench_of
from tests.wire.operator import OperatorProcess

_NAMESPACES = 40
_PATIENCE = 3600.0
_STEADY = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What N services on so many processes took. Seconds, MiB, cores; of each process where there are several.

    all_made: from the start until each InferenceService is there; all_watching: until each service is watched.
    cpu_cores, rss_mb, apiserver_cores, reads_missed_share: while nothing changes. lost: one process was killed; until
    the others had looked at all its services, and until it was back and all services were looked at again. With one
    process the second alone. errors: lines of warnings and errors in the logs.
    """

    services: int
    processes: int
    all_made_seconds: float
    all_watching_seconds: float
    cpu_cores: list[float]
    rss_mb: list[float]
    apiserver_cores: float
    reads_missed_share: float
    lost_seconds: float | None
    back_seconds: float
    errors: int


async def _looked_at(bench: Bench, operators: tuple[OperatorProcess, ...]) -> bool:
    return sum([await reconciled(each) for each in operators]) == bench.fleet.size


async def _watched(bench: Bench) -> bool:
    return (await bench.fleet.phases())["Watching"] == bench.fleet.size


async def _start(bench: Bench) -> float:
    begun = time.monotonic()
    await asyncio.gather(*(each.start() for each in bench.operators))

    async def made() -> bool:
        return len(bench.fleet.changed) == bench.fleet.size

    await until("every InferenceService is made", made, _PATIENCE)
    return time.monotonic() - begun


async def _lose_one(bench: Bench) -> tuple[float | None, float]:
    lost, *others = bench.operators
    await lost.stop(signal.SIGKILL)
    moved = await until("all moved", lambda: _looked_at(bench, (*others,)), _PATIENCE) if others else None
    begun = time.monotonic()
    await lost.start()

    async def back() -> bool:
        return await reconciled(lost) > 0 and await _looked_at(bench, bench.operators)

    await until("all is back", back, _PATIENCE)
    return moved, time.monotonic() - begun


async def measure(services: int, shards: int, folder: pathlib.Path) -> Row:
    """One run. folder: empty, for keys, logs and the store."""
    async with bench_of(services, folder, shards=shards, namespaces=_NAMESPACES) as bench:
        made = await _start(bench)
        print(f"  all made after {made:.0f} s", flush=True)
        watching = made + await until("every service is watched", lambda: _watched(bench), _PATIENCE, every=10.0)
        print(f"  all watched after {watching:.0f} s", flush=True)
        await asyncio.sleep(2 * INTERVAL)
        pids = [each.pid for each in bench.operators]
        before, asked, server = [taken(pid) for pid in pids], await engines("GET", "/stand"), taken(bench.apiserver)
        await asyncio.sleep(_STEADY)
        after, now = [taken(pid) for pid in pids], await engines("GET", "/stand")
        missed = 1 - (now["asked"] - asked["asked"]) / (services * _STEADY / INTERVAL)
        api_cores = (taken(bench.apiserver).cpu - server.cpu) / _STEADY
        lost, back = await _lose_one(bench)
        return Row(
            services=services,
            processes=shards,
            all_made_seconds=made,
            all_watching_seconds=watching,
            cpu_cores=[round((b.cpu - a.cpu) / _STEADY, 3) for a, b in zip(before, after, strict=True)],
            rss_mb=[round(each.rss, 1) for each in after],
            apiserver_cores=api_cores,
            reads_missed_share=max(0.0, missed),
            lost_seconds=lost,
            back_seconds=back,
            errors=sum(_errors(each.log) for each in bench.operators),
        )


def _errors(log: pathlib.Path) -> int:
    return sum('"severity": "error"' in line or '"severity": "warn"' in line for line in log.read_text().splitlines())


def main() -> None:
    """Runs each number of processes on a cluster of its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--services", type=int, default=10_000)
    parser.add_argument("--shards", default="1,4", help="numbers of processes")
    parser.add_argument("--out", type=pathlib.Path, help="JSON file; what it says of `breaks`, by hand, is kept")
    found = parser.parse_args()
    rows = []
    kept = json.loads(found.out.read_text()) if found.out and found.out.exists() else {"breaks": ""}
    for shards in map(int, found.shards.split(",")):
        with tempfile.TemporaryDirectory() as folder:
            rows.append(asyncio.run(measure(found.services, shards, pathlib.Path(folder))))
        print(json.dumps(asdict(rows[-1]), indent=1), flush=True)
        if found.out:
            written = {"at": datetime.now(UTC).strftime("%Y-%m-%d"), "rows": [asdict(row) for row in rows]}
            found.out.write_text(json.dumps(kept | written, indent=1) + "\n")


if __name__ == "__main__":
    main()
