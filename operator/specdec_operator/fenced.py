"""A cluster to which only the leader may write."""

from collections.abc import Callable

from specdec_operator.cluster import Cluster, Manifest
from specdec_operator.errors import Unavailable


class Fenced:
    """See Cluster. may_write: whether this replica leads, asked before each write."""

    def __init__(self, cluster: Cluster, may_write: Callable[[], bool]) -> None:
        self._cluster = cluster
        self._may_write = may_write

    async def apply(self, manifest: Manifest) -> Manifest:
        """See Cluster. Raises Unavailable where another replica may lead."""
        self._refuse()
        return await self._cluster.apply(manifest)

    async def remove(self, manifest: Manifest) -> None:
        """See Cluster. Raises Unavailable where another replica may lead."""
        self._refuse()
        await self._cluster.remove(manifest)

    async def apply_status(self, namespace: str, name: str, status: Manifest) -> int:
        """See Cluster. Raises Unavailable where another replica may lead."""
        self._refuse()
        return await self._cluster.apply_status(namespace, name, status)

    async def read(self, path: str, **selectors: str) -> Manifest | None:
        """See Cluster."""
        return await self._cluster.read(path, **selectors)

    async def log_end(self, namespace: str, pod: str) -> str:
        """See Cluster."""
        return await self._cluster.log_end(namespace, pod)

    def _refuse(self) -> None:
        if not self._may_write():
            raise Unavailable("NotLeading", "another replica may lead by now: nothing is written")
