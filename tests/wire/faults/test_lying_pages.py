"""The reader of pods' metrics, alone, against every lie: counters or words, in little memory and in time."""

import asyncio
import json
import os
import pathlib
import sys
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import asdict
from typing import Any

from specdec_operator.guard.counters import read_counters
from tests.hostile_http import Answer, bomb
from tests.wire.faults.liars_standin import PAGE, READ, UNREAD, pod_of, series
from tests.wire.faults.table import Part, fault

TIMEOUT = 2.0
"""Seconds that one page may take here; the operator gives it five."""
MEMORY = 20 * 1024
"""KiB that the process may grow by, whatever is sent."""
LONGEST_WORDS = 500
"""Characters of the message about a page, the pod's address and advice included."""
ROOT = pathlib.Path(__file__).parents[3]


async def _read(liars: Mapping[str, Answer]) -> dict[str, Any]:
    """What the operator's reader makes of each liar, in a process of its own."""
    async with AsyncExitStack() as stack:
        servers = {name: await stack.enter_async_context(pod_of(liar)) for name, liar in liars.items()}
        program = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "tests.wire.faults.scraping",
            str(TIMEOUT),
            *(f"{name}={server.url}/metrics" for name, server in servers.items()),
            stdout=asyncio.subprocess.PIPE,
            cwd=ROOT,
            env=os.environ | {"PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "operator")))},
        )
        said, _ = await program.communicate()
        assert program.returncode == 0, "the reader raised"
        found: dict[str, Any] = json.loads(said)
        return found


@fault(
    part=Part.METRICS,
    when="metrics are negative, NaN, infinite, 1e308, cut off, of another program, huge, packed, slow, TLS, "
    "no HTTP, or another HTTP status",
    then="not read, within the time limit and 20 MB",
)
async def test_no_lie_becomes_a_number() -> None:
    """A page that is incomplete or not of an engine is missing data: it gives a message, in time, in little memory."""
    made_before_the_clock_runs = bomb(), series(1_000_000)
    assert all(made_before_the_clock_runs)
    found = await _read(READ | UNREAD)
    for name, outcome in found["outcomes"].items():
        print(f"{name:30} {outcome['seconds']:.2f} s {outcome['stall']:.3f} s {outcome['words'][:150]}")
        assert (outcome["words"] != "") is (name in UNREAD), (name, outcome)
        assert len(outcome["words"]) < LONGEST_WORDS, (name, outcome)
        assert outcome["seconds"] < TIMEOUT + 1.0, (name, outcome)
        assert outcome["stall"] < 1.0, (name, outcome)
    print(f"grown by {found['grown']} KiB")
    assert found["grown"] < MEMORY


@fault(
    part=Part.METRICS,
    when="metrics in HTTP/1.0, in chunks, or under another content type",
    then="read",
)
async def test_an_odd_answer_with_true_counters_is_read() -> None:
    """What counts is the page."""
    found = await _read(READ)
    whole = json.loads(json.dumps(asdict(read_counters(PAGE.decode()))))
    assert {name: outcome["counters"] for name, outcome in found["outcomes"].items()} == dict.fromkeys(READ, whole)
