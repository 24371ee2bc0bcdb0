"""`specdec` as a program, and the operator's part played by hand: a status that it might have written."""

import asyncio
import os
import pathlib
import sys
from dataclasses import dataclass
from typing import Any

from tests.signals import heed_interrupts
from tests.wire.api import SIS, Object
from tests.wire.waiting import PATIENCE
from tests.wire.world import NAME, World

_ROOT = pathlib.Path(__file__).parents[2]
_MESSAGE = "acceptance 0.78, 3.34 tokens per step over 120 s, 12840 drafted tokens, 3 pods"
WATCHING: Object = {
    "observedGeneration": 1,
    "phase": "Watching",
    "reason": "Accepted",
    "message": _MESSAGE,
    "conditions": [
        {
            "type": "Ready",
            "status": "True",
            "reason": "Up",
            "message": "m",
            "lastTransitionTime": "2026-11-20T11:00:00Z",
        }
    ],
    "serving": {"speculating": True, "method": "draft_model", "tokens": 4, "drafted": 4},
    "acceptance": {"rate": 0.78, "length": 3.34, "perPosition": [0.9, 0.8, 0.7, 0.6]},
    "performance": {"speedup": 1.5, "gainLow": 1.08, "gainHigh": 1.41, "dips": 214},
    "guard": {
        "state": "Watching",
        "since": "2026-11-20T11:00:00Z",
        "verdict": "Pass",
        "message": _MESSAGE,
        "offCost": {
            "ratio": 0.91,
            "low": 0.87,
            "high": 0.95,
            "at": "2026-11-20T08:00:00Z",
            "windows": 41,
            "pods": [3, 2],
            "for": {"revision": "r", "engine": "vllm 0.33.0", "model": "m", "method": "draft_model", "tokens": 4},
        },
    },
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """The result of a program: exit code, standard output, standard error."""

    code: int
    out: str
    err: str


class Command:
    """`specdec` in a namespace, as the user of a kubeconfig."""

    def __init__(self, kubeconfig: pathlib.Path, namespace: str) -> None:
        self.kubeconfig = kubeconfig
        self.namespace = namespace
        self._started: list[asyncio.subprocess.Process] = []

    async def start(self, *words: str, **streams: Any) -> asyncio.subprocess.Process:
        """Starts it."""
        search = os.pathsep.join(str(_ROOT / part) for part in ("operator", "runtime"))
        environment = os.environ | {"KUBECONFIG": str(self.kubeconfig), "PYTHONPATH": search}
        argv = [sys.executable, "-m", "specdec_command.cli.main", *words, "-n", self.namespace]
        process = await asyncio.create_subprocess_exec(
            *argv, env=environment | {"TERM": "xterm"}, preexec_fn=heed_interrupts, **streams
        )
        self._started.append(process)
        return process

    def end(self) -> None:
        """Ends what a failed test left behind."""
        for process in self._started:
            if process.returncode is None:
                process.kill()

    async def __call__(self, *words: str) -> Said:
        """Runs it to its end."""
        pipe = asyncio.subprocess.PIPE
        process = await self.start(*words, stdin=asyncio.subprocess.DEVNULL, stdout=pipe, stderr=pipe)
        out, err = await asyncio.wait_for(process.communicate(), PATIENCE)
        return Said(code=process.returncode or 0, out=out.decode(), err=err.decode())


async def report(world: World, status: Object) -> None:
    """Plays the operator: writes a status."""
    await world.api.merge(SIS, world.namespace, NAME, {"status": status}, "status")
