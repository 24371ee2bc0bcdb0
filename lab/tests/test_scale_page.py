"""The page about many services shows what its files hold: the goals that were missed and those that were met."""

import json
from pathlib import Path
from typing import Any

import pytest

from lab.scale import sharded
from lab.scale.page import page
from lab.scale.peers.row import PeerRow
from lab.scale.row import GROWING, ScaleRow

ORIGIN = {"commit": "1234567", "at": "2026-01-02", "cpu": "a processor", "cores": 2, "memory_gib": 16.0}
ORIGIN |= {"kernel": "6.1", "python": "3.11.7"}
COUNTED = json.loads((Path(__file__).parents[2] / "docs" / "soak" / "soak.json").read_text())["numbers"]
SOAK = {
    "numbers": dict.fromkeys(COUNTED, 1.0),
    "done": {"change": 7},
    "wrong": [],
    "samples": [{"at": 120.0}],
}


def _written(folder: Path, **more: Any) -> Path:
    row = dict.fromkeys(ScaleRow.__dataclass_fields__, 1.0) | {"services": 1000, "reads_missed_share": 0.25}
    peer = dict.fromkeys(PeerRow.__dataclass_fields__, 2.0) | {"peer": "Argo Rollouts, limits raised", "services": 1000}
    found = {
        "rows": [row],
        "growth": dict.fromkeys(GROWING, 1.0) | {"burst_seconds": 1.5},
        "missed": ["rss_mb is 151 with 1000 services, 150 is the goal"],
        "peers": [peer],
        "beside_peers": row,
        "peers_at": "2025-12-30",
    }
    for name, content in (("scale", found | more), ("soak", SOAK)):
        (folder / name).mkdir()
        (folder / name / f"{name}.json").write_text(json.dumps(content))
    of_shards: dict[str, Any] = dict.fromkeys(sharded.ShardedRow.__dataclass_fields__, 1.0)
    of_shards |= {"processes": 2, "cpu_cores": [0.5, 0.25], "rss_mb": [80.0, 90.0], "lost_seconds": None}
    shards: dict[str, Any] = {"rows": [of_shards | {"origin": ORIGIN}], "breaks": "The CPU."}
    cost = {"seconds": 60.0, "cpu": 19.5, "rss": 150.0}
    kserve = {"services": 1000, "kserve": "0.20.0", "made": cost, "idle": cost, "changed": cost, "origin": ORIGIN}
    for name, content in (("sharded", shards), ("kserve", kserve)):
        (folder / "scale" / f"{name}.json").write_text(json.dumps(content))
    return folder / "scale"


def test_what_was_missed_is_shown(tmp_path: Path) -> None:
    """A goal, and what grows faster than the number of services."""
    text = page(_written(tmp_path))
    assert "Not met: rss_mb is 151 with 1000 services, 150 is the goal." in text
    assert text.count("More than linear, to the power of 1.5: 500 changes at once") == 1


def test_what_kserve_takes_is_shown_with_its_version(tmp_path: Path) -> None:
    """Beside a benchmark that has another maker of Deployments."""
    text = page(_written(tmp_path))
    assert "The real KServe 0.20.0 on an API server of its own" in text
    assert "| created, until each has its Deployment | 60 | 19.5 | 150 |" in text


def test_reads_that_were_not_made_are_not_counted_as_made(tmp_path: Path) -> None:
    """Ours and the others' by one measure: a quarter of 66.7 is missing."""
    text = page(_written(tmp_path))
    assert "| specdec-operator | 1 | 2 | 1 | 1 | 66.7 | 50 |" in text
    assert "ours takes 0.50 times the CPU" in text


def test_several_processes_are_added_up(tmp_path: Path) -> None:
    """Memory of the largest one, too; without another process no service moves."""
    text = page(_written(tmp_path))
    for line in (
        "| 30 s later: CPU cores of all together | 0.75 |",
        "| ... resident memory of the largest process, MiB | 90 |",
        "| one process killed, until the others had reconciled its services, s | none other |",
    ):
        assert line in text


def test_a_file_without_rows_makes_no_page(tmp_path: Path) -> None:
    """The way out is in the words."""
    with pytest.raises(ValueError, match="make bench-scale"):
        page(_written(tmp_path, rows=[]))


def test_columns_of_several_days_name_each_day(tmp_path: Path) -> None:
    """A run of some of the columns does not change the date of the others."""
    folder = _written(tmp_path)
    kept = json.loads((folder / "sharded.json").read_text())
    kept["rows"] += [kept["rows"][0] | {"origin": ORIGIN | {"at": "2026-01-03", "commit": "89abcde"}}]
    (folder / "sharded.json").write_text(json.dumps(kept))
    text = page(folder)
    assert "Measured on 2026-01-02 at commit 1234567: " in text
    assert "Measured on 2026-01-03 at commit 89abcde: " in text
