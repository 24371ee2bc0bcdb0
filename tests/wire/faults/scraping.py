"""Reads pages with the operator's own reader, in a process of its own: its memory is what reading takes.

    python -m tests.wire.faults.scraping SECONDS NAME=URL...

Prints one JSON object: what was made of each page, and how far memory grew.
"""

import asyncio
import json
import pathlib
import sys
import time
from dataclasses import asdict, dataclass
from typing import Any

from specdec_operator.guard.counters import Unread
from specdec_operator.scrape.pods import PodMetrics

_BEAT = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One page. words: why it was not read, empty if it was; counters: its counters, if it was read.

    seconds: how long that took; stall: the longest time in which the process did nothing else, in seconds.
    """

    words: str
    counters: dict[str, Any]
    seconds: float
    stall: float


async def _read(scraper: PodMetrics, url: str) -> Outcome:
    stalls = [0.0]
    beating = asyncio.create_task(_beat(stalls))
    begun = time.monotonic()
    reading = (await scraper.read("ns", {"pod": url}))["pod"]
    seconds = time.monotonic() - begun
    await asyncio.sleep(2 * _BEAT)
    beating.cancel()
    unread = isinstance(reading, Unread)
    return Outcome(
        words=reading.words if isinstance(reading, Unread) else "",
        counters={} if unread else asdict(reading),
        seconds=seconds,
        stall=max(stalls),
    )


def _most_memory() -> int:
    """KiB of memory that this program had at most; the number of getrusage begins with that of the parent."""
    said = pathlib.Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in said if line.startswith("VmHWM"))


async def _beat(stalls: list[float]) -> None:
    while True:
        begun = time.monotonic()
        await asyncio.sleep(_BEAT)
        stalls.append(time.monotonic() - begun - _BEAT)


async def _main(timeout: float, urls: dict[str, str]) -> dict[str, Any]:
    scraper = PodMetrics(timeout=timeout, limit=4)
    first, *_ = urls.values()
    await _read(scraper, first)
    before = _most_memory()
    outcomes = {name: asdict(await _read(scraper, url)) for name, url in urls.items()}
    await scraper.close()
    return {"outcomes": outcomes, "grown": _most_memory() - before}


if __name__ == "__main__":
    _urls = dict(each.split("=", 1) for each in sys.argv[2:])
    print(json.dumps(asyncio.run(_main(float(sys.argv[1]), _urls))))
