"""Everything that the story needs: cluster, images, models, operator. What is there already costs a look.

From nothing, the cluster is compiled while the images are downloaded and the models trained, because the one waits for
the processor and the other for the network.
"""

import asyncio
import collections
import pathlib
import sys

from hack import images, install, models
from hack.cluster import images as node
from hack.cluster import lifecycle, packages, paths, record, volumes
from hack.cluster.errors import ClusterError
from hack.cluster.record import Driver
from hack.demo.screen import Note, Screen

_ROOT = pathlib.Path(__file__).parents[2]
_LAST_LINES = 30


async def everything(screen: Screen, namespace: str) -> pathlib.Path:
    """Make what is missing; returns the folder of the models."""
    if record.read(paths.layout()) is None and lifecycle.pick() is Driver.NODE and packages.missing():
        # Before anything else, because Debian's package manager serves one caller at a time.
        with screen.step("Debian packages") as note:
            await asyncio.to_thread(packages.ensure, note)
    async with asyncio.TaskGroup() as group:
        group.create_task(_module(screen, "local cluster", "hack.cluster", "up"))
        group.create_task(_images_and_models(screen))
    refs = images.refs()
    if not all([node.has(refs.operator), node.has(refs.runtime)]):
        await _module(screen, "images onto the node", "hack.images", "all")
    with screen.step("operator installed"):
        await asyncio.to_thread(install.ensure, refs)
        folder = await asyncio.to_thread(models.ensure)
        await asyncio.to_thread(volumes.ensure_models, folder, namespace)
    return folder


async def _images_and_models(screen: Screen) -> None:
    await _module(screen, "images built", "hack.images", "all")
    await _module(screen, "tiny models", "hack.models")


async def _module(screen: Screen, name: str, *words: str) -> None:
    with screen.step(name) as note:
        await run([sys.executable, "-m", *words], note)


async def run(command: list[str], note: Note) -> None:
    """Run a program of this repository and pass on what it says; its failure is told in its own words."""
    program = await asyncio.create_subprocess_exec(
        *command, cwd=_ROOT, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT, limit=2**20
    )
    last: collections.deque[str] = collections.deque(maxlen=_LAST_LINES)
    try:
        if program.stdout is not None:
            async for line in program.stdout:
                last.append(line.decode(errors="replace").rstrip())
                note(last[-1])
        code = await program.wait()
    finally:
        if program.returncode is None:
            program.terminate()
            await program.wait()
    if code:
        raise ClusterError(f"`{' '.join(['python', *command[1:]])}` failed: {failure_words(list(last))}")


def failure_words(lines: list[str]) -> str:
    """What a failed program said about it: from its line `error: …` on, or else its last five lines."""
    said = [number for number, line in enumerate(lines) if line.startswith("error: ")]
    words = lines[said[-1] :] if said else lines[-5:]
    return "\n".join(words).removeprefix("error: ") or "it said nothing"
