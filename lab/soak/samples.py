"""What the operator takes while it runs, sample by sample, and how its memory grows."""

import pathlib
from collections.abc import Sequence
from dataclasses import dataclass

import aiohttp

from lab.scale.process import taken

_HOUR = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One look. at: seconds since the first; cpu: seconds so far; rss_mb: MiB; files: open ones, sockets among them;
    series: lines of /metrics about services; names: the services that these are about.
    """

    at: float
    cpu: float
    rss_mb: float
    files: int
    sockets: int
    tasks: int
    loops: int
    most_series: int
    names: frozenset[str]


async def sample(pid: int, metrics_port: int, at: float) -> Sample:
    """Looks at the process and at its own page."""
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"http://127.0.0.1:{metrics_port}/metrics") as answer,
    ):
        page = await answer.text()
    links = [_target(each) for each in pathlib.Path(f"/proc/{pid}/fd").iterdir()]
    series = series_of(page)
    now = taken(pid)
    return Sample(
        at=at,
        cpu=now.cpu,
        rss_mb=now.rss,
        files=len(links),
        sockets=sum(each.startswith("socket:") for each in links),
        tasks=_number(page, "specdec_tasks"),
        loops=_number(page, "specdec_loops"),
        most_series=max(series.values(), default=0),
        names=frozenset(series),
    )


def series_of(page: str) -> dict[str, int]:
    """How many series each service has."""
    found: dict[str, int] = {}
    for line in page.splitlines():
        _, mark, rest = line.partition(',name="') if '{name="' not in line else line.partition('{name="')
        if mark and line.startswith("specdec_"):
            name = rest.partition('"')[0]
            found[name] = found.get(name, 0) + 1
    return found


def growth(samples: Sequence[Sample]) -> float:
    """MiB an hour by which the memory grows over the second half, by least squares."""
    half = samples[len(samples) // 2 :]
    middle_x = sum(each.at for each in half) / len(half)
    middle_y = sum(each.rss_mb for each in half) / len(half)
    spread = sum((each.at - middle_x) ** 2 for each in half)
    return _HOUR * sum((each.at - middle_x) * (each.rss_mb - middle_y) for each in half) / spread if spread else 0.0


def _target(link: pathlib.Path) -> str:
    try:
        return str(link.readlink())
    except OSError:  # closed meanwhile
        return ""


def _number(page: str, name: str) -> int:
    return next((round(float(line.split()[1])) for line in page.splitlines() if line.startswith(f"{name} ")), 0)
