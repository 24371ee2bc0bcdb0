"""One run with N services: its parts, one after the other."""

import pathlib

from lab.scale.parts import changes, restart, rollbacks, start, steady, sweep
from lab.scale.row import ScaleRow
from lab.scale.stage import bench_of


async def run(size: int, folder: pathlib.Path) -> ScaleRow:
    """Everything that is measured with so many services. folder: empty, for keys, logs and the store."""
    async with bench_of(size, folder) as bench:
        found = await start(bench)
        for part in (steady, sweep, rollbacks, changes, restart):
            found |= await part(bench)
            print(f"  {part.__name__} done", flush=True)
        return ScaleRow(services=size, status_bytes_max=await bench.fleet.largest_status(), **found)  # type: ignore[arg-type]
