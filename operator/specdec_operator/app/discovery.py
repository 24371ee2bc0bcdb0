"""Which of the watched APIs the cluster serves.

kopf looks for them when a CRD changes, which is before the API server serves it, and not again: an operator that was
there before its CRD, or before KServe, would watch nothing until its next restart (tests/wire/test_missing_parts.py).
"""

import asyncio
import logging
from typing import Final

from specdec_operator import names
from specdec_operator.errors import Unavailable
from specdec_operator.kube.cluster import Cluster

_LOG = logging.getLogger(__name__)
_WATCHED: Final = {
    f"/apis/{names.API_VERSION}": names.PLURAL,
    f"/apis/{names.KSERVE_GROUP}/{names.KSERVE_VERSION}": "inferenceservices",
}
_EVERY: Final = 2.0


async def missing(cluster: Cluster) -> frozenset[str]:
    """Plurals of the watched kinds that the API server does not serve. Raises Unavailable where it does not answer."""
    found = set()
    for path, plural in _WATCHED.items():
        listed = await cluster.read(path) or {}
        if plural not in {each["name"] for each in listed.get("resources", ())}:
            found.add(plural)
    return frozenset(found)


async def wait_for(cluster: Cluster, lacking: frozenset[str], arrived: asyncio.Event) -> None:
    """Sets `arrived` once the API server serves a kind that it lacked."""
    if not lacking:
        return
    _LOG.warning("the cluster does not serve %s yet: install the CRDs", " and ".join(sorted(lacking)))
    while True:
        await asyncio.sleep(_EVERY)
        try:
            now = await missing(cluster)
        except Unavailable:
            continue
        if lacking - now:
            _LOG.info("the cluster serves %s now", " and ".join(sorted(lacking - now)))
            arrived.set()
            return
