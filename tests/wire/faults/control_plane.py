"""An etcd and an API server that a test may stop, kill, pause and start again: same ports, same data."""

import asyncio
import os
import pathlib
import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from hack.cluster import pki

from tests.ports import free_ports
from tests.wire.server import SAVING, administrator, etcd_command, server_command, wait_until_ready

_PATIENCE = 70.0
"""Seconds that an API server may take to end by itself: it lets its requests end first."""


class Program:
    """One of the two. log: the file of its output, kept over restarts. variables: added to its environment."""

    def __init__(self, command: list[str], log: pathlib.Path, variables: Mapping[str, str]) -> None:
        self._command = command
        self._environment = os.environ | dict(variables)
        self._log = log
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Starts it, again with the same data."""
        with self._log.open("ab") as output:
            self.process = subprocess.Popen(self._command, env=self._environment, stdout=output, stderr=output)

    def send(self, number: signal.Signals) -> None:
        """Sends it a signal, and waits for nothing."""
        assert self.process is not None
        self.process.send_signal(number)

    def end(self, how: signal.Signals = signal.SIGTERM) -> None:
        """Ends it, and waits until it has ended. One that is paused goes on first."""
        if self.process is None:
            return
        for number in (how, signal.SIGCONT):
            self.process.send_signal(number)
        self.process.wait(_PATIENCE)
        self.process = None


class ControlPlane:
    """Both, with their data in a folder. kubeconfig: of an administrator."""

    def __init__(self, folder: pathlib.Path) -> None:
        self._folder = folder
        self._store, peer, self._secure = free_ports(3)
        pki.create(folder / "pki")
        self.kubeconfig = administrator(folder, self._secure)
        self.etcd = Program(etcd_command(folder, self._store, peer), folder / "etcd.log", {})
        self.server = Program(server_command(folder, self._store, self._secure), folder / "apiserver.log", SAVING)

    def wait(self) -> None:
        """Waits until the API server serves."""
        assert self.server.process is not None
        wait_until_ready(self.server.process, self._secure, self._folder)

    async def stop_server(self, how: signal.Signals) -> None:
        """Ends the API server."""
        await asyncio.to_thread(self.server.end, how)

    async def start_server(self) -> None:
        """Starts the API server, and waits until it serves."""
        self.server.start()
        await asyncio.to_thread(self.wait)


@contextmanager
def control_plane(folder: pathlib.Path) -> Iterator[ControlPlane]:
    """Both running, for the length of the block."""
    made = ControlPlane(folder)
    made.etcd.start()
    try:
        made.server.start()
        made.wait()
        yield made
    finally:
        made.server.end(signal.SIGKILL)
        made.etcd.end(signal.SIGKILL)
