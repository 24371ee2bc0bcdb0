"""Free TCP ports for the servers that tests start, each given to one test process only.

Asking the kernel for port 0 and closing it gives a port of the range that outgoing connections use too: with six test
processes side by side, another process took it before the server listened.
"""

import fcntl
import pathlib
import random
import socket
import tempfile
from typing import Final

PORTS: Final = range(10_000, 26_000)
"""Below the ports of outgoing connections (32768 and more on Linux), NodePorts and the local cluster's own."""
_TRIES: Final = 1_000
_held: list[object] = []


def free_ports(count: int) -> list[int]:
    """Ports on which no process listens now; no other test process is given them while this one runs."""
    found: list[int] = []
    for port in random.sample(PORTS, _TRIES):
        if len(found) == count:
            return found
        if _claimed(port):
            found.append(port)
    raise AssertionError(f"no {count} free ports of {PORTS.start} to {PORTS.stop} in {_TRIES} tries")


def free_port() -> int:
    """One of them."""
    return free_ports(1)[0]


def _claimed(port: int) -> bool:
    """Whether the port is this process's now: its file is locked until the process ends."""
    folder = pathlib.Path(tempfile.gettempdir()) / "specdec-test-ports"
    folder.mkdir(exist_ok=True)
    claim = (folder / str(port)).open("w")
    try:
        fcntl.flock(claim, fcntl.LOCK_EX | fcntl.LOCK_NB)
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # a server before may still be in TIME_WAIT
            probe.bind(("", port))
    except OSError:
        claim.close()
        return False
    _held.append(claim)
    return True
