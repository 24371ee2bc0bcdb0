"""What a run with N services found, the goals, and how each number grows with N."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaleRow:
    """What N services took. Seconds, MiB, cores; the names are the columns of the JSON file.

    all_made: from the start until each InferenceService is there. change: from a user's change of one sis to its
    InferenceService. burst: until 500 changes that came at once (or N) are followed. rss_growth: in the two minutes of
    idle_*, cpu_cores, apiserver_cores, while every pod has traffic and nothing changes. reads_missed_share: of the
    reads that were due then, those that were not made. sweep: reading every pod once, at one moment.
    rolled_back: of the 5 % whose drafts became useless at once; rollouts_in_10_seconds: most of those that the operator
    began by itself. restart: from SIGKILL until every service was reconciled.
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
    rollouts_in_10_seconds: int
    status_bytes_max: int
    apiserver_cores: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """What a column is to be at most, with `services` of them."""

    column: str
    most: float
    services: int = 1000


GOALS: Final = (
    Goal(column="cpu_cores", most=1.0),
    Goal(column="rss_mb", most=150.0),
    Goal(column="change_p95_seconds", most=2.0),
    Goal(column="restart_seconds", most=30.0),
    Goal(column="sweep_seconds", most=15.0),
    Goal(column="sweep_sockets", most=64),
    Goal(column="status_bytes_max", most=16 * 1024),
    Goal(column="idle_writes_per_minute", most=0.0),
    Goal(column="reads_missed_share", most=0.0),
    Goal(column="rolled_back_wrongly", most=0),
)
GROWING: Final = ("all_made_seconds", "cpu_cores", "rss_mb", "burst_seconds", "restart_seconds", "sweep_seconds")


def exponent(rows: Sequence[ScaleRow], column: str) -> float:
    """The power of N with which a column grows, by least squares over the logarithms; 1 is linear."""
    points = [(math.log(row.services), math.log(max(1e-9, getattr(row, column)))) for row in rows]
    middle_x, middle_y = (sum(each) / len(points) for each in zip(*points, strict=True))
    spread = sum((x - middle_x) ** 2 for x, _ in points)
    return float(sum((x - middle_x) * (y - middle_y) for x, y in points) / spread)


def growth(rows: Sequence[ScaleRow]) -> dict[str, float]:
    """Of each column that may grow, the power of N; nothing where there is one row."""
    return {name: round(exponent(rows, name), 2) for name in GROWING} if len(rows) > 1 else {}


def missed(rows: Sequence[ScaleRow]) -> list[str]:
    """The goals that were not met, with what was found instead."""
    return [
        f"{goal.column} is {found:g} with {row.services} services, {goal.most:g} is the goal"
        for row in rows
        for goal in GOALS
        if row.services == goal.services and (found := getattr(row, goal.column)) > goal.most
    ]


def table(rows: Sequence[ScaleRow]) -> str:
    """All rows side by side, for people."""
    columns = [asdict(row) for row in rows]
    return "\n".join(
        f"  {name:<26}" + "".join(f"{round(column[name], 3):>12g}" for column in columns) for name in columns[0]
    )
