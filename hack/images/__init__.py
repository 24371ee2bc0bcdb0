"""Builds the project's images, and those of its tests, and puts them onto the local cluster.

An image is named by what it is made of.
"""

from dataclasses import dataclass

from hack.cluster import paths, record
from hack.images import content
from hack.kserve.versions import SUMS, chosen


@dataclass(frozen=True, kw_only=True, slots=True)
class Refs:
    """The names of the images that belong to this state of the tree; the last two are of the tests on a node."""

    operator: str
    runtime: str
    initializer: str
    s3: str


def kserve() -> str:
    """Return the version of the KServe that the local cluster has, or would have."""
    known = record.read(paths.layout())
    return known.kserve if known and known.kserve in SUMS else chosen().version


def accelerated(target: str) -> str:
    """Return the name of the runtime image for GPUs or NPUs."""
    digest = content.digest(content.ACCELERATED[target], more=content.distribution())
    return f"localhost/specdec-runtime-{target}:{digest}"


def refs() -> Refs:
    """Return the names without building anything."""
    return Refs(
        operator=f"localhost/specdec-operator:{content.digest(content.OPERATOR, more=content.distribution())}",
        runtime=f"localhost/specdec-runtime:cpu-{content.digest(content.RUNTIME, more=content.distribution())}",
        initializer=f"localhost/specdec-storage-initializer:{content.digest(content.INITIALIZERS[kserve()])}",
        s3=f"localhost/specdec-s3:{content.digest(content.S3)}",
    )
