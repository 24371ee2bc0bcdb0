"""The operator as a process of its own, so that a test can kill it and start it again."""

import asyncio
import os
import pathlib
import signal
import sys
import time
from collections.abc import Mapping
from typing import Self

import aiohttp

from tests import installed
from tests.ports import free_ports
from tests.wire.waiting import PATIENCE

_ANSWER = aiohttp.ClientTimeout(total=2.0)
_ROOT = pathlib.Path(__file__).parents[2]


class OperatorProcess:
    """`python -m specdec_operator` with the operator's own service account."""

    def __init__(
        self,
        kubeconfig: pathlib.Path,
        namespace: str,
        folder: pathlib.Path,
        *,
        name: str = "operator",
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._more = dict(environment or {})
        self._kubeconfig = kubeconfig
        self._namespace = namespace
        self.log = folder / f"{name}.log"
        self.health_port, self.metrics_port = free_ports(2)
        self._process: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        """Starts it."""
        environment = {key: value for key, value in os.environ.items() if not key.startswith("KUBERNETES_")}
        environment |= {
            "KUBECONFIG": str(self._kubeconfig),
            "PYTHONPATH": os.pathsep.join(str(_ROOT / part) for part in ("operator", "runtime")),
            "SPECDEC_NAMESPACES": self._namespace,
            "SPECDEC_HEALTH_PORT": str(self.health_port),
            "SPECDEC_METRICS_PORT": str(self.metrics_port),
            installed.RUNTIMES: installed.settings()[installed.RUNTIMES],
            **self._more,
        }
        with self.log.open("ab") as output:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "specdec_operator", env=environment, stdout=output, stderr=output
            )
        await self._healthy()

    async def _healthy(self) -> None:
        """Waits until /healthz answers, so that a slow start on a busy machine does not fail a test."""
        deadline = time.monotonic() + PATIENCE
        async with aiohttp.ClientSession(timeout=_ANSWER) as session:
            while time.monotonic() < deadline:
                try:
                    async with session.get(f"http://127.0.0.1:{self.health_port}/healthz") as answer:
                        if answer.status == 200:
                            return
                except (aiohttp.ClientError, TimeoutError):
                    await asyncio.sleep(0.1)
        raise AssertionError(f"the operator does not answer /healthz; its log ends: {self.log.read_text()[-2000:]}")

    @property
    def pid(self) -> int:
        """Its process, while it runs."""
        assert self._process is not None
        return self._process.pid

    async def leads(self) -> bool:
        """Whether its metrics show that it is the leader; False if it does not answer."""
        return await self.metric("specdec_leader") == 1.0

    async def metric(self, name: str) -> float:
        """A number of its metrics page, the sum of all its series; 0 if it is missing, or no process answers."""
        try:
            url = f"http://127.0.0.1:{self.metrics_port}/metrics"
            async with aiohttp.ClientSession() as session, session.get(url) as answer:
                lines = (await answer.text()).splitlines()
        except aiohttp.ClientError:
            return 0.0
        return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith((f"{name} ", f"{name}{{")))

    def send(self, number: signal.Signals) -> None:
        """Sends it a signal, and waits for nothing."""
        assert self._process is not None
        self._process.send_signal(number)

    async def ended(self, seconds: float) -> int:
        """Waits until it ends by itself, as it promises to within these seconds; returns its exit code."""
        assert self._process is not None
        return await asyncio.wait_for(self._process.wait(), seconds)

    async def stop(self, how: signal.Signals = signal.SIGTERM) -> int:
        """Ends it; returns its exit code."""
        if self._process is None:
            return 0
        process, self._process = self._process, None
        if process.returncode is None:
            process.send_signal(how)
        return await asyncio.wait_for(process.wait(), PATIENCE)

    async def __aenter__(self) -> Self:
        try:
            await self.start()
        except BaseException:
            await self.stop(signal.SIGKILL)  # else the next test would have two
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()
