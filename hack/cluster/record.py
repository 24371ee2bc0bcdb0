"""What is known about the running cluster: written last by `up`, so its absence means an unfinished start."""

import json
from dataclasses import asdict, dataclass
from enum import StrEnum

from hack.cluster import paths
from hack.cluster.errors import ClusterError
from hack.cluster.paths import ClusterLayout


class ClusterDriver(StrEnum):
    """What the cluster runs on."""

    NODE = "node"
    KIND = "kind"


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One finished start. kserve: which KServe it has, a version or where its program came from; empty for none."""

    driver: ClusterDriver
    pins: str
    kserve: str


def write(layout: ClusterLayout, record: Record) -> None:
    """Save the record at once or not at all."""
    unfinished = layout.record.with_suffix(".unfinished")
    unfinished.write_text(json.dumps(asdict(record)))
    unfinished.rename(layout.record)


def read(layout: ClusterLayout) -> Record | None:
    """Return the record of the running cluster, if a start was finished."""
    try:
        fields = json.loads(layout.record.read_text())
        return Record(**fields | {"driver": ClusterDriver(fields["driver"])})
    except (FileNotFoundError, ValueError, TypeError, KeyError):
        return None


def running() -> Record:
    """Return the record of this machine's cluster. Raises ClusterError where none is up."""
    if (known := read(paths.layout())) is None:
        raise ClusterError("no cluster is up: run `python -m hack.cluster up`")
    return known
