"""What is shown while the demo runs: a live view on a terminal, plain lines anywhere else (CI, a pipe)."""

import asyncio
import collections
import pathlib
import sys
import time
from asyncio.subprocess import PIPE, STDOUT
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final

from rich.console import Console, RenderableType
from rich.progress import Progress, TextColumn
from rich.table import Column, Table
from rich.text import Text

from hack.cluster.errors import ClusterError

Note = Callable[[str], None]
_ROOT: Final = pathlib.Path(__file__).parents[2]
_LINE_EVERY: Final = 5.0
_BARS: Final = "▁▂▃▄▅▆▇█"
_COLOURS: Final = {"Watching": "green", "Serving": "green", "Responding": "red", "RolledBack": "yellow"}


class Screen(Progress):
    """Steps with their times, and the service while there is traffic."""

    def __init__(self, console: Console, clock: Callable[[], float] = time.monotonic) -> None:
        self._service: Mapping[str, str] = {}
        super().__init__(
            TextColumn("{task.fields[mark]}"),
            TextColumn("{task.description}"),
            TextColumn("{task.elapsed:.1f} s", justify="right"),
            TextColumn("{task.fields[note]}", "dim", markup=False, table_column=Column(ratio=1, no_wrap=True)),
            console=console,
            expand=True,
            refresh_per_second=4,
            get_time=clock,
            disable=not console.is_interactive,
        )
        self._began = clock()
        self._last_line = 0.0

    @contextmanager
    def step(self, name: str) -> Iterator[Note]:
        """Time a step; the value takes what it reports on the way."""

        def note(line: str) -> None:
            self.update(step, note=line)
            self._line(f"    {name}: {line}")

        step = self.add_task(name, mark="[cyan]▶", note="")
        self._line(f"… {name}")
        mark = "[red]✗"
        try:
            yield note
            mark = "[green]✓"
            self.update(step, note="")
        finally:
            self.stop_task(step)
            self.update(step, mark=mark)
            self._line(f"{mark[-1]} {name:<44}{self.seconds()[name]:7.1f} s")

    async def program(self, name: str, *words: str) -> None:
        """Run `python -m` as a step that shows its output. Raises ClusterError with its own error message."""
        last: collections.deque[str] = collections.deque(maxlen=30)
        with self.step(name) as note:
            running = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", *words), cwd=_ROOT, limit=2**20, stdout=PIPE, stderr=STDOUT
            )
            try:
                if running.stdout is not None:
                    async for line in running.stdout:
                        last.append(line.decode(errors="replace").rstrip())
                        note(last[-1])
                code = await running.wait()
            finally:
                if running.returncode is None:
                    running.terminate()
                    await running.wait()
            if code:
                raise ClusterError(f"`python -m {' '.join(words)}` failed: {failure(list(last))}")

    def seconds(self) -> dict[str, float]:
        """Seconds of each step, and of everything: steps that overlap make the sum larger than that."""
        each = {step.description: round(step.elapsed or 0.0, 1) for step in self.tasks}
        return each | {"together": round(self.get_time() - self._began, 1)}

    def show(self, service: Mapping[str, str]) -> None:
        """The service as it is now, as words by name; empty where there is nothing to look at. Called often."""
        self._service = service
        if service and self.get_time() - self._last_line >= _LINE_EVERY:
            self._last_line = self.get_time()
            self._line("    " + " · ".join(f"{name} {words}" for name, words in service.items()))

    def stop(self) -> None:
        """Leave the steps on the screen, without the service."""
        self._service = {}
        super().stop()

    def get_renderables(self) -> Iterable[RenderableType]:
        """The live view."""
        yield from super().get_renderables()
        if self._service:
            table = Table(show_header=False, title="the service now", title_justify="left")
            for name, words in self._service.items():
                table.add_row(name, Text(words, _COLOURS.get(words, ""), overflow="ellipsis", no_wrap=True))
            yield table

    def _line(self, line: str) -> None:
        if self.disable:
            self.console.print(Text(line), soft_wrap=True)


def sparkline(values: Sequence[float]) -> str:
    """The course of some values as a row of bars, from zero to the highest of them."""
    top = max(values, default=0.0)
    if top <= 0:
        return ""
    return "".join(_BARS[min(len(_BARS) - 1, int(value / top * len(_BARS)))] for value in values)


def failure(lines: list[str]) -> str:
    """What a failed program printed about it: from its last line `error: …` on, or else its last five lines."""
    errors = [number for number, line in enumerate(lines) if line.startswith("error: ")]
    return "\n".join(lines[errors[-1] if errors else -5 :]).removeprefix("error: ") or "it printed nothing"
