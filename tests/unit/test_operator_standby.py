"""A replica that begins to lead frees the port at once, whoever asks in that moment."""

import subprocess
import sys

from tests.wire.server import free_ports

_STOPS = """
import asyncio, socket, sys, time
from specdec_operator.standby import StandBy

async def stop(port, steps):
    stand_by = StandBy(port)
    await stand_by.start()
    await asyncio.sleep(0.1)
    with socket.create_connection(("127.0.0.1", port)) as probe:
        probe.sendall(b"GET /healthz HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n")
        for _ in range(steps):
            await asyncio.sleep(0)
        begun = time.monotonic()
        await stand_by.stop()
        return time.monotonic() - begun

print(max(asyncio.run(stop(int(port), steps)) for steps, port in enumerate(sys.argv[1:])))
"""
"""A process of its own, because asyncio leaves a connection unclosed that is made in a certain moment of a stop."""


def test_a_probe_in_the_moment_of_the_stop_does_not_hold_it_up() -> None:
    """So many steps of the event loop as there are ports lie between the two; aiohttp would wait a minute after one."""
    command = [sys.executable, "-c", _STOPS, *map(str, free_ports(8))]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert float(done.stdout) < 10
