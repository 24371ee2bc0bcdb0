"""One run with N services: each part measured once, one after the other, and what it found as a row of numbers."""

import asyncio
import os
import pathlib
import signal
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from dataclasses import asdict, dataclass

import aiohttp
from kubernetes.aio import client, config

from specdec_operator.scrape import Scraper
from specdec_operator.settings import Settings
from tests.scale.audit import Audit
from tests.scale.engines_standin import PORT, address_of
from tests.scale.fleet import INTERVAL, NAMESPACE, Fleet, percentile
from tests.scale.process import taken
from tests.wire.api import Api
from tests.wire.install import install, operator_kubeconfig
from tests.wire.operator import OperatorProcess
from tests.wire.server import api_server, running

_ROOT = pathlib.Path(__file__).parents[2]
_PATIENCE = 900.0
_STEADY = 120.0
_CHANGED, _BURST, _BAD_SHARE = 100, 500, 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What N services took. Seconds, MiB, cores; the names are the columns of the JSON file.

    sweep_seconds: reading every pod once, one sweep. reads_missed_share: of the reads that were due while nothing else
    happened, those that were not made.
    """

    services: int
    all_made_seconds: float
    all_watching_seconds: float
    change_p50_seconds: float
    change_p95_seconds: float
    change_p99_seconds: float
    burst_seconds: float
    cpu_cores: float
    rss_mb: float
    rss_growth_mb: float
    idle_reads_per_minute: float
    idle_writes_per_minute: float
    reads_missed_share: float
    sweep_seconds: float
    sweep_sockets: int
    restart_seconds: float
    rolled_back: int
    rollback_seconds: float
    rolled_back_wrongly: int
    status_bytes_max: int
    apiserver_cores: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """What a run works with."""

    fleet: Fleet
    operator: OperatorProcess
    apiserver: int
    audit: Audit


async def _until(what: str, probe: Callable[[], Awaitable[bool]], seconds: float = _PATIENCE) -> float:
    begun = time.monotonic()
    while not await probe():
        if time.monotonic() - begun > seconds:
            raise TimeoutError(f"{what}: not within {seconds:.0f} s")
        await asyncio.sleep(0.25)
    return time.monotonic() - begun


async def _engines(method: str, path: str) -> dict[str, int]:
    url = f"http://127.0.0.1:{PORT}{path}"
    async with aiohttp.ClientSession() as session, session.request(method, url) as answer:
        found: dict[str, int] = await answer.json()
        return found


async def _metric(operator: OperatorProcess, name: str) -> float:
    """A number without labels of the operator's page; 0 where it is not there or nobody answers."""
    try:
        url = f"http://127.0.0.1:{operator.metrics_port}/metrics"
        async with aiohttp.ClientSession() as session, session.get(url) as answer:
            page = await answer.text()
    except aiohttp.ClientError:
        return 0.0
    return next((float(line.split()[1]) for line in page.splitlines() if line.startswith(f"{name} ")), 0.0)


async def _start(bench: Bench) -> tuple[float, float]:
    """From a fleet that nobody looked at: seconds until all InferenceServices are made, and until all are watched."""
    begun = time.monotonic()
    await bench.operator.start()

    async def made() -> bool:
        return len(bench.fleet.changed) == bench.fleet.size

    async def watching() -> bool:
        return (await bench.fleet.phases())["Watching"] == bench.fleet.size

    await _until("every InferenceService is made", made)
    all_made = time.monotonic() - begun
    await _until("every service is watched", watching)
    return all_made, time.monotonic() - begun


async def _steady(bench: Bench) -> dict[str, float]:
    """While nothing changes, with traffic on every pod."""
    await asyncio.sleep(3 * INTERVAL)
    bench.audit.skip()
    before, asked, server = taken(bench.operator.pid), await _engines("GET", "/stand"), taken(bench.apiserver)
    await asyncio.sleep(_STEADY)
    after, now, idle = taken(bench.operator.pid), await _engines("GET", "/stand"), bench.audit.since()
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


async def _changes(bench: Bench) -> dict[str, float]:
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


async def _restart(bench: Bench) -> float:
    """Killed and started again: seconds until each service had a turn and is known."""
    await bench.operator.stop(signal.SIGKILL)
    begun = time.monotonic()
    await bench.operator.start()

    async def known() -> bool:
        turns = await _metric(bench.operator, "specdec_turn_seconds_count")
        return await _metric(bench.operator, "specdec_loops") >= bench.fleet.size and turns >= bench.fleet.size

    await _until("every service had a turn", known)
    return time.monotonic() - begun


async def _rollbacks(bench: Bench) -> dict[str, float]:
    """Some drafts become useless at once: seconds until each of these runs plain, and how many others do."""
    bad = max(1, round(bench.fleet.size * _BAD_SHARE))
    names = {f"svc-{number}" for number in range(bad) if number % 25}  # the others fail, hang or are huge anyway
    begun = time.monotonic()
    await _engines("POST", f"/bad?from=0&to={bad}")

    async def plain() -> bool:
        return names <= bench.fleet.plain

    await _until("the bad ones run plain", plain)
    spent = time.monotonic() - begun
    await asyncio.sleep(2 * INTERVAL)
    wrongly = len(bench.fleet.plain - {f"svc-{number}" for number in range(bad)})
    return {"rolled_back": len(names), "rollback_seconds": spent, "rolled_back_wrongly": wrongly}


async def _sweep(size: int) -> dict[str, float]:
    """The operator's own reader, with its own limits, over every pod at once."""
    settings = Settings()
    scraper = Scraper(timeout=settings.scrape_timeout, limit=settings.scrape_limit)
    await _engines("GET", "/stand")
    begun = time.monotonic()
    await scraper.read({f"p{number}": f"http://{address_of(number)}:{PORT}/metrics" for number in range(size)})
    spent = time.monotonic() - begun
    await scraper.close()
    return {"sweep_seconds": spent, "sweep_sockets": (await _engines("GET", "/stand"))["most_open"]}


@asynccontextmanager
async def bench_of(size: int, folder: pathlib.Path) -> AsyncIterator[Bench]:
    """Everything that runs beside the operator; the fleet is there, and nobody has looked at it."""
    audit = Audit(folder)
    with ExitStack() as programs:
        admin = programs.enter_context(api_server(folder, *audit.flags()))
        own = (*_flags(admin), f"--kubeconfig={admin}", f"--namespace={NAMESPACE}")
        settings = client.Configuration()
        await config.load_kube_config(str(admin), client_configuration=settings)
        async with AsyncExitStack() as stack:
            connection = await stack.enter_async_context(client.ApiClient(settings))
            api = Api(connection)
            await install(api)
            await api.create_namespace(NAMESPACE)
            programs.enter_context(running(["env", *own], folder / "kserve.log"))
            engines = [sys.executable, "-m", "tests.scale.engines_standin"]
            programs.enter_context(running(["env", f"PYTHONPATH={_path()}", *engines], folder / "engines.log"))
            operator = OperatorProcess(
                await operator_kubeconfig(api, admin, folder / "operator.kubeconfig"), NAMESPACE, folder
            )
            stack.push_async_callback(operator.stop)
            fleet = Fleet(api, size)
            await stack.enter_async_context(fleet.watched(connection))
            await fleet.apply(range(size))
            yield Bench(fleet=fleet, operator=operator, apiserver=_pid_of("kube-apiserver", folder), audit=audit)


def _path() -> str:
    return os.pathsep.join(str(part) for part in (_ROOT, _ROOT / "operator", _ROOT / "runtime"))


def _flags(_: pathlib.Path) -> tuple[str, ...]:
    return (f"PYTHONPATH={_path()}", sys.executable, "-m", "tests.scale.kserve_standin_many")


def _pid_of(program: str, folder: pathlib.Path) -> int:
    """The process of this program that was started with this folder."""
    for each in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = each.read_bytes().decode().split("\0")
        except OSError:
            continue
        if words[0].endswith(program) and any(str(folder) in word for word in words):
            return int(each.parent.name)
    raise LookupError(f"no {program} of {folder}")


async def run(size: int, folder: pathlib.Path) -> Row:
    """All parts, one after the other."""
    async with bench_of(size, folder) as bench:
        all_made, all_watching = await _start(bench)
        found: dict[str, float] = {}
        for part in (_steady(bench), _sweep(size), _rollbacks(bench), _changes(bench)):
            found |= await part
            print(f"  {part.__name__} done", flush=True)
        restart = await _restart(bench)
        return Row(
            services=size,
            all_made_seconds=all_made,
            all_watching_seconds=all_watching,
            restart_seconds=restart,
            status_bytes_max=await bench.fleet.largest_status(),
            **found,  # type: ignore[arg-type]
        )


def shown(row: Row) -> str:
    """A row for people."""
    return "\n".join(f"  {name:<26}{value:>12.3f}" for name, value in asdict(row).items())
