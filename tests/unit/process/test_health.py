"""/healthz: what the kubelet reads there, and that no probe delays the end of the process."""

import subprocess
import sys

import aiohttp
import pytest
from tests.ports import free_port, free_ports

from specdec_operator.process.health import HealthServer, ProcessHealth

_STOPS = """
import asyncio, socket, sys, time
from specdec_operator.process.health import HealthServer

async def stop(port, steps):
    server = HealthServer(port)
    await server.start()
    await asyncio.sleep(0.1)
    with socket.create_connection(("127.0.0.1", port)) as probe:
        probe.sendall(b"GET /healthz HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n")
        for _ in range(steps):
            await asyncio.sleep(0)
        begun = time.monotonic()
        await server.stop()
        return time.monotonic() - begun

print(max(asyncio.run(stop(int(port), steps)) for steps, port in enumerate(sys.argv[1:])))
"""
"""A process of its own, because asyncio leaves a connection unclosed that is made in a certain moment of a stop."""


def test_a_probe_in_the_moment_of_the_stop_does_not_hold_it_up() -> None:
    """So many steps of the event loop as there are ports lie between the two; aiohttp would wait a minute after one."""
    command = [sys.executable, "-c", _STOPS, *map(str, free_ports(8))]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert float(done.stdout) < 10


@pytest.mark.parametrize(("hangs", "status"), [(False, 200), (True, 500)])
async def test_a_process_that_hangs_is_to_be_restarted(hangs: bool, status: int) -> None:
    port = free_port()
    server = HealthServer(port)
    await server.start()
    try:
        assert await _ask(port) == (200, {"leader": False})
        server.works(lambda: ProcessHealth(services=3, new=1, idle=2.5, hangs=hangs))
        assert await _ask(port) == (status, {"leader": True, "services": 3, "new": 1, "idle": 2.5, "hangs": hangs})
    finally:
        await server.stop()


async def _ask(port: int) -> tuple[int, dict[str, object]]:
    async with aiohttp.ClientSession() as session, session.get(f"http://127.0.0.1:{port}/healthz") as answer:
        return answer.status, await answer.json()
