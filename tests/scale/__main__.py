"""`python -m tests.scale --sizes 100,300,1000 --out docs/scale`: the benchmark, its JSON and how it grows."""

import argparse
import asyncio
import json
import math
import pathlib
import tempfile
from dataclasses import asdict

from tests.scale.run import Row, run, shown

_GROWING = ("all_made_seconds", "cpu_cores", "rss_mb", "burst_seconds", "restart_seconds", "sweep_seconds")


def exponent(rows: list[Row], column: str) -> float:
    """The power of N with which a column grows, by least squares over the logarithms; 1 is linear."""
    points = [(math.log(row.services), math.log(max(1e-9, getattr(row, column)))) for row in rows]
    middle_x, middle_y = (sum(each) / len(points) for each in zip(*points, strict=True))
    spread = sum((x - middle_x) ** 2 for x, _ in points)
    return sum((x - middle_x) * (y - middle_y) for x, y in points) / spread


def main() -> None:
    """Runs each size on a cluster of its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="100,300,1000")
    parser.add_argument("--out", type=pathlib.Path)
    found = parser.parse_args()
    rows = []
    for size in (int(each) for each in found.sizes.split(",")):
        print(f"{size} services", flush=True)
        with tempfile.TemporaryDirectory() as folder:
            rows.append(asyncio.run(run(size, pathlib.Path(folder))))
        print(shown(rows[-1]), flush=True)
    growth = {name: round(exponent(rows, name), 2) for name in _GROWING} if len(rows) > 1 else {}
    print("grows with N to the power of", growth)
    if found.out:
        found.out.write_text(json.dumps({"rows": [asdict(row) for row in rows], "growth": growth}, indent=1) + "\n")


if __name__ == "__main__":
    main()
