"""The parts of a run: each measured once, one after the other."""

import asyncio
import signal
import time
from collections.abc import Awaitable, Callable

import aiohttp
from tests.wire.operator import OperatorProcess

from lab.scale.engines_standin import PORT, address_of
from lab.scale.fleet import INTERVAL, most_within, percentile
from lab.scale.process import taken
from lab.scale.stage import Bench
from specdec_operator.scrape.pods import PodMetrics
from specdec_operator.settings import Settings

Found = dict[str, float]
_PATIENCE = 900.0
_STEADY = 120.0
_CHANGED, _BURST, _BAD_SHARE = 100, 500, 0.05


async def until(
    what: str, probe: Callable[[], Awaitable[bool]], seconds: float = _PATIENCE, *, every: float = 0.25
) -> float:
    """Waits; returns the seconds that it took. Raises TimeoutError."""
    begun = time.monotonic()
    while not await probe():
        if time.monotonic() - begun > seconds:
            raise TimeoutError(f"{what}: not within {seconds:.0f} s")
        await asyncio.sleep(every)
    return time.monotonic() - begun


async def engines(method: str, path: str) -> dict[str, int]:
    """A request to the stand-in of the engines."""
    url = f"http://127.0.0.1:{PORT}{path}"
    async with aiohttp.ClientSession() as session, session.request(method, url) as answer:
        found: dict[str, int] = await answer.json()
        return found


async def reconciled(operator: OperatorProcess) -> int:
    """How many services had their first reconcile, by /healthz: it costs next to nothing, unlike the metrics."""
    try:
        url = f"http://127.0.0.1:{operator.health_port}/healthz"
        async with aiohttp.ClientSession() as session, session.get(url) as answer:
            health = await answer.json()
            return int(health.get("services", 0) - health.get("new", 0))
    except aiohttp.ClientError:
        return 0


async def start(bench: Bench) -> Found:
    """From a fleet that no operator has read: until all InferenceServices are made, and until all are watched."""
    begun = time.monotonic()
    await bench.operator.start()

    async def made() -> bool:
        return len(bench.fleet.changed) == bench.fleet.size

    async def watching() -> bool:
        return (await bench.fleet.phases())["Watching"] == bench.fleet.size

    await until("every InferenceService is made", made)
    all_made = time.monotonic() - begun
    await until("every service is watched", watching)
    return {"all_made_seconds": all_made, "all_watching_seconds": time.monotonic() - begun}


async def _settled(bench: Bench) -> None:
    """Waits until nothing was written for half a minute, or five minutes are over: then the writes will show."""
    for _ in range(10):
        bench.audit.skip()
        await asyncio.sleep(2 * INTERVAL)
        if not bench.audit.since().writes.total():
            return


async def steady(bench: Bench) -> Found:
    """While nothing changes, with traffic on every pod."""
    await _settled(bench)
    bench.audit.skip()
    before, asked, server = taken(bench.operator.pid), await engines("GET", "/stand"), taken(bench.apiserver)
    await asyncio.sleep(_STEADY)
    after, now, idle = taken(bench.operator.pid), await engines("GET", "/stand"), bench.audit.since()
    due = bench.fleet.size * _STEADY / INTERVAL
    print("  writes while idle:", dict(idle.writes.most_common(5)), flush=True)
    return {
        "cpu_cores": (after.cpu - before.cpu) / _STEADY,
        "rss_mb": after.rss,
        "rss_growth_mb": after.rss - before.rss,
        "idle_reads_per_minute": idle.reads * 60 / _STEADY,
        "idle_writes_per_minute": idle.writes.total() * 60 / _STEADY,
        "reads_missed_share": max(0.0, 1 - (now["asked"] - asked["asked"]) / due),
        "apiserver_cores": (taken(bench.apiserver).cpu - server.cpu) / _STEADY,
    }


async def changes(bench: Bench) -> Found:
    """One change after the other, and then many at once."""
    took: list[float] = []
    for number in bench.fleet.some(_CHANGED):
        took += await bench.fleet.until_changed(await bench.fleet.apply([number], max_num_seqs=32), _PATIENCE)
    begun = time.monotonic()
    await bench.fleet.until_changed(await bench.fleet.apply(bench.fleet.some(_BURST), max_num_seqs=16), _PATIENCE)
    return {
        "change_p50_seconds": percentile(took, 0.50),
        "change_p95_seconds": percentile(took, 0.95),
        "change_p99_seconds": percentile(took, 0.99),
        "burst_seconds": time.monotonic() - begun,
    }


async def restart(bench: Bench) -> Found:
    """Killed and started again: until each service was reconciled."""
    await bench.operator.stop(signal.SIGKILL)
    begun = time.monotonic()
    await bench.operator.start()

    async def known() -> bool:
        return await reconciled(bench.operator) == bench.fleet.size

    await until("every service was reconciled", known)
    return {"restart_seconds": time.monotonic() - begun}


async def rollbacks(bench: Bench) -> Found:
    """Some drafts become useless at once: seconds until each of these runs plain, and how many others do."""
    bad = max(1, round(bench.fleet.size * _BAD_SHARE))
    names = {f"svc-{number}" for number in range(bad) if number % 25}  # the others fail, hang or are huge anyway
    begun = time.monotonic()
    await engines("POST", f"/bad?from=0&to={bad}")

    async def at_baseline() -> bool:
        return names <= bench.fleet.baseline

    await until("the bad ones serve the baseline", at_baseline)
    spent = time.monotonic() - begun
    await asyncio.sleep(2 * INTERVAL)
    wrongly = len(bench.fleet.baseline - {f"svc-{number}" for number in range(bad)})
    return {
        "rolled_back": len(names),
        "rollback_seconds": spent,
        "rolled_back_wrongly": wrongly,
        "rollouts_in_10_seconds": most_within(bench.fleet.turned, 10.0),
    }


async def sweep(bench: Bench) -> Found:
    """The operator's own reader, with its own limits, over every pod at once."""
    size = bench.fleet.size
    settings = Settings()
    scraper = PodMetrics(timeout=settings.scrape_timeout, limit=settings.scrape_limit)
    await engines("GET", "/stand")
    begun = time.monotonic()
    await scraper.read("ns", {f"p{number}": f"http://{address_of(number)}:{PORT}/metrics" for number in range(size)})
    spent = time.monotonic() - begun
    await scraper.close()
    return {"sweep_seconds": spent, "sweep_sockets": (await engines("GET", "/stand"))["most_open"]}
