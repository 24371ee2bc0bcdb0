"""`python -m lab.scale --out docs/scale`: the benchmark with its peers, its JSON, its picture and how it grows.

Peers are compared with our row of the same run: one that is measured later without them does not take its place.
"""

import argparse
import asyncio
import json
import pathlib
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from hack.machine import origin

from lab.scale.peers.run import measured
from lab.scale.plot import draw
from lab.scale.row import ScaleRow, growth, missed, table
from lab.scale.run import run

_PEERS_AT = 1000
_NO_PEERS: Mapping[str, Any] = {"peers": [], "beside_peers": None, "peers_at": None}


def main() -> None:
    """Runs each size on a cluster of its own, and the peers with 1,000 where that is one of the sizes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="100,300,1000,3000", help="numbers of services")
    parser.add_argument("--out", type=pathlib.Path, help="folder for scale.json, scale.svg and scale.png")
    parser.add_argument("--add", action="store_true", help="keep what that folder holds of other sizes and of peers")
    parser.add_argument("--no-peers", action="store_true", help="measure ours alone with 1,000 services, too")
    found = parser.parse_args()
    sizes = [int(each) for each in found.sizes.split(",")]
    rows, others = _kept(found.out, sizes) if found.add else ([], _NO_PEERS)
    for size in sizes:
        row = _row(size)
        rows = sorted([*rows, row], key=lambda row: row.services)
        if size == _PEERS_AT and not found.no_peers:
            peers = [asdict(peer) for peer in measured(_PEERS_AT)]
            others = {"peers": peers, "beside_peers": asdict(row), "peers_at": _today()}
        if found.out:  # what was measured is kept when the run is ended early
            _write(found.out, rows, others)
    print(table(rows))
    print("grows with N to the power of", growth(rows))
    print(*(missed(rows) or ["every goal is met"]), sep="\n")


def _kept(folder: pathlib.Path, sizes: Sequence[int]) -> tuple[list[ScaleRow], dict[str, Any]]:
    """What the folder holds and is not measured again: rows, and the peers with our row beside them."""
    found = json.loads((folder / "scale.json").read_text())
    rows = [ScaleRow(**each) for each in found["rows"] if each["services"] not in sizes]
    return rows, {name: found[name] for name in _NO_PEERS}


def _row(size: int) -> ScaleRow:
    print(f"{size} services", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        row = asyncio.run(run(size, pathlib.Path(folder)))
    print(table([row]), flush=True)
    return row


def _write(folder: pathlib.Path, rows: list[ScaleRow], others: Mapping[str, Any]) -> None:
    numbers = {
        "origin": origin(),
        "rows": [asdict(row) for row in rows],
        "growth": growth(rows),
        "missed": missed(rows),
        **others,
    }
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "scale.json").write_text(json.dumps(numbers, indent=1) + "\n")
    draw(numbers, *(folder / f"scale{end}" for end in (".svg", ".png")))


def _today() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%d")


if __name__ == "__main__":
    main()
