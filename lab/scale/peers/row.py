"""What a peer took, as a row of numbers, out of two looks at it. Pure."""

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass

from lab.scale.process import Taken

_WRITES = frozenset({"create", "update", "patch", "delete", "deletecollection"})


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerRow:
    """What a peer took to watch so many objects while nothing else happened; the names are those of the JSON file.

    cpu_cores, rss_mb: of its process; apiserver_cores: of the API server that it alone uses. due_per_second: reads of
    metrics that the objects ask for; made_per_second: those that the metrics' servers counted.
    """

    peer: str
    services: int
    cpu_cores: float
    rss_mb: float
    apiserver_cores: float
    writes_per_minute: float
    due_per_second: float
    made_per_second: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerSample:
    """One look. at: seconds of a steady clock; read: metrics read so far; wrote: writes since the look before."""

    at: float
    peer: Taken
    apiserver: Taken
    read: int
    wrote: Counter[str]


def row_of(peer: str, services: int, interval: float, before: PeerSample, after: PeerSample) -> PeerRow:
    """What happened between two looks. interval: seconds between two reads of one object."""
    seconds = after.at - before.at
    return PeerRow(
        peer=peer,
        services=services,
        cpu_cores=(after.peer.cpu - before.peer.cpu) / seconds,
        rss_mb=after.peer.rss,
        apiserver_cores=(after.apiserver.cpu - before.apiserver.cpu) / seconds,
        writes_per_minute=after.wrote.total() * 60 / seconds,
        due_per_second=services / interval,
        made_per_second=(after.read - before.read) / seconds,
    )


def writes_of(lines: Iterable[str], user: str) -> Counter[str]:
    """The writes of one user in lines of an audit log, by verb and resource."""
    found = Counter[str]()
    for event in map(json.loads, lines):
        if event["user"]["username"] == user and event["verb"] in _WRITES:
            where = event.get("objectRef", {})
            parts = (where.get("resource"), where.get("subresource"))
            found[f"{event['verb']} {'/'.join(part for part in parts if part)}"] += 1
    return found


def shown(row: PeerRow) -> str:
    """A row for people."""
    numbers = {name: value for name, value in asdict(row).items() if name != "peer"}
    return "\n".join(f"  {name:<26}{value:>12.3f}" for name, value in numbers.items())
