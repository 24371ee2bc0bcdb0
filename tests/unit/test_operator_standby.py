"""A replica that begins to lead frees the port at once, whoever asks in that moment."""

import asyncio
import socket
import time

import pytest

from specdec_operator.standby import StandBy
from tests.wire.server import free_ports

_REQUEST = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"


@pytest.mark.parametrize("steps", range(6))
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # asyncio leaves one unclosed, at 1 step
async def test_a_probe_in_the_moment_of_the_stop_does_not_hold_it_up(steps: int) -> None:
    """aiohttp would wait a minute for its end. steps: of the event loop, between the two."""
    (port,) = free_ports(1)
    stand_by = StandBy(port)
    await stand_by.start()
    await asyncio.sleep(0.1)
    with socket.create_connection(("127.0.0.1", port)) as probe:
        probe.sendall(_REQUEST)
        for _ in range(steps):
            await asyncio.sleep(0)
        begun = time.monotonic()
        await stand_by.stop()
        assert time.monotonic() - begun < 10
