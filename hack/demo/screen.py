"""What is seen while the demo runs: a live view on a terminal, plain lines anywhere else (CI, a pipe)."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from hack.demo.steps import Step, Steps

Note = Callable[[str], None]
_LINE_EVERY = 5.0
_BARS = "▁▂▃▄▅▆▇█"


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """The service at this moment. speeds: tokens per second of the last seconds, oldest first."""

    phase: str
    topic: str
    clients: int
    speeds: tuple[float, ...]
    acceptance: float | None
    answered: int
    failed: int
    last_event: str

    def line(self) -> str:
        """Everything on one line."""
        rate = "-" if self.acceptance is None else f"{self.acceptance:.2f}"
        speed = self.speeds[-1] if self.speeds else 0.0
        return (
            f"{self.phase or 'no phase yet'} · {self.topic} · acceptance {rate} · {speed:.0f} tokens/s · "
            f"{self.answered} answered, {self.failed} failed"
        )


class Screen:
    """Plain lines. The live view overrides what it shows in another way."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.steps = Steps(began=time.monotonic())
        self._last_line = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        pass

    @contextmanager
    def step(self, name: str) -> Iterator[Note]:
        """Time a step; what it says on the way goes to the returned function."""
        step = self.steps.begin(name, time.monotonic())
        self.began(step)
        try:
            yield lambda line: self.noted(step, line)
        except BaseException:
            step.failed = True
            raise
        finally:
            step.ended = time.monotonic()
            self.ended(step)

    def began(self, step: Step) -> None:
        """A step begins."""
        self._print(f"… {step.name}")

    def noted(self, step: Step, line: str) -> None:
        """A step says something."""
        step.note = line
        self._print(f"    {step.name}: {line}")

    def ended(self, step: Step) -> None:
        """A step is over, one way or the other."""
        mark = "✗" if step.failed else "✓"
        self._print(f"{mark} {step.name:<44}{step.seconds(time.monotonic()):7.1f} s")

    def show(self, panel: Panel | None) -> None:
        """The service as it is now; None when there is nothing to look at. Called often."""
        if panel is None or time.monotonic() - self._last_line < _LINE_EVERY:
            return
        self._last_line = time.monotonic()
        self._print(f"    {panel.line()}")

    def _print(self, line: str) -> None:
        self.console.print(Text(line), soft_wrap=True)


class LiveScreen(Screen):
    """Steps with running times, and a table of the service while there is traffic."""

    def __init__(self, console: Console) -> None:
        super().__init__(console)
        self._panel: Panel | None = None
        self._live = Live(self, console=console, refresh_per_second=4, transient=False)

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self._panel = None
        self._live.stop()

    def __rich__(self) -> RenderableType:
        """What rich draws, four times a second."""
        parts: list[RenderableType] = [steps_table(self.steps, time.monotonic())]
        if self._panel is not None:
            parts += [Text(), panel_table(self._panel)]
        return Group(*parts)

    def began(self, step: Step) -> None:
        """Drawn from the steps."""

    def noted(self, step: Step, line: str) -> None:
        """Drawn from the steps."""
        step.note = line

    def ended(self, step: Step) -> None:
        """Drawn from the steps."""

    def show(self, panel: Panel | None) -> None:
        """Drawn at the next refresh."""
        self._panel = panel


def steps_table(steps: Steps, now: float) -> Table:
    """One row a step: a mark, its name, its seconds, and what it said last while it runs."""
    table = Table(box=None, show_header=False, padding=(0, 1))
    table.add_column(width=1)
    table.add_column(no_wrap=True)
    table.add_column(justify="right", width=8)
    table.add_column(overflow="ellipsis", no_wrap=True, style="dim", ratio=1)
    for step in steps.steps:
        running = step.ended is None
        mark = Text("▶", "cyan") if running else Text("✗", "red") if step.failed else Text("✓", "green")
        note = step.note if running or step.failed else ""
        table.add_row(mark, step.name, f"{step.seconds(now):.1f} s", note)
    return table


def panel_table(panel: Panel) -> Table:
    """The service as it is now."""
    colour = {"Watching": "green", "Serving": "green", "Responding": "red", "RolledBack": "yellow"}
    table = Table(show_header=False, padding=(0, 1), title="the service now", title_justify="left")
    rate = "none drafted" if panel.acceptance is None else f"{panel.acceptance:.2f}"
    now = f"{panel.speeds[-1]:6.0f}" if panel.speeds else "     -"
    table.add_row("phase", Text(panel.phase or "-", colour.get(panel.phase, "")))
    table.add_row("traffic", f"{panel.topic}, {panel.clients} client{'' if panel.clients == 1 else 's'}")
    table.add_row("acceptance", rate)
    table.add_row("tokens/s", f"{now}  {sparkline(panel.speeds)}")
    table.add_row("requests", f"{panel.answered} answered, {panel.failed} failed")
    table.add_row("last event", Text(panel.last_event or "-", overflow="ellipsis", no_wrap=True))
    return table


def sparkline(values: tuple[float, ...]) -> str:
    """The course of some values as a row of bars, from zero to the highest of them."""
    top = max(values, default=0.0)
    if top <= 0:
        return ""
    return "".join(_BARS[min(len(_BARS) - 1, int(value / top * len(_BARS)))] for value in values)


def choose(console: Console) -> Screen:
    """The live view where a person watches, plain lines elsewhere."""
    return LiveScreen(console) if console.is_terminal else Screen(console)
