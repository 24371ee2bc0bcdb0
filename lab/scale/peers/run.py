"""One peer, measured while nothing changes, by the measures that ours is measured by."""

import asyncio
import pathlib
import tempfile
import time
from collections.abc import Iterable
from contextlib import AbstractAsyncContextManager
from enum import StrEnum
from typing import assert_never

from lab.scale.peers.argo import RAISED, argo
from lab.scale.peers.kopf_peer import plain_kopf
from lab.scale.peers.row import PeerRow, PeerSample, row_of, shown
from lab.scale.peers.site import Site, site_of
from lab.scale.peers.started import INTERVAL, Peer
from lab.scale.process import taken

_WARM_UP, _WINDOW = 60.0, 120.0


class PeerKind(StrEnum):
    """The peers."""

    ARGO = "Argo Rollouts"
    ARGO_RAISED = "Argo Rollouts, limits raised"
    KOPF = "plain kopf"


def measured(services: int, kinds: Iterable[PeerKind] = PeerKind) -> list[PeerRow]:
    """Measures them, each on an API server of its own, and prints the results."""
    rows = []
    for kind in kinds:
        print(f"{kind}: {services} services", flush=True)
        with tempfile.TemporaryDirectory() as folder:
            rows.append(asyncio.run(measure(kind, services, pathlib.Path(folder))))
        print(shown(rows[-1]), flush=True)
    return rows


async def measure(
    kind: PeerKind, services: int, folder: pathlib.Path, *, warm_up: float = _WARM_UP, window: float = _WINDOW
) -> PeerRow:
    """The row of one peer. folder: an empty one; warm_up: seconds before the window, and window: its seconds.

    Raises TimeoutError where the peer does not come to watch every service.
    """
    async with site_of(folder) as site, _peer(kind, site, services) as peer:
        await asyncio.sleep(warm_up)
        before = await _look(site, peer)
        await asyncio.sleep(window)
        after = await _look(site, peer)
        print(f"  writes of {kind}:", dict(after.wrote.most_common(5)), flush=True)
        return row_of(kind.value, services, INTERVAL, before, after)


def _peer(kind: PeerKind, site: Site, services: int) -> AbstractAsyncContextManager[Peer]:
    match kind:
        case PeerKind.ARGO:
            return argo(site, services)
        case PeerKind.ARGO_RAISED:
            return argo(site, services, *RAISED)
        case PeerKind.KOPF:
            return plain_kopf(site, services)
        case _:
            assert_never(kind)


async def _look(site: Site, peer: Peer) -> PeerSample:
    read, wrote = await peer.read(), site.wrote()
    return PeerSample(
        at=time.monotonic(), peer=taken(peer.pid), apiserver=taken(site.apiserver), read=read, wrote=wrote
    )
