"""The story of `specdec demo` on a console: on a terminal it goes by, in a pipe it is there at once."""

import math
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

import typer
from rich.console import Console, RenderableType
from rich.live import Live
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from specdec_command.cli.status_page import page
from specdec_command.story.lines import RECORDED, StoryLine, chapters, clock, lines, outcome, sources, speeds
from specdec_command.story.play import Moment
from specdec_command.story.recording import Chapter, StoryRecording
from specdec_operator.display.describe import Glyphs, glyphs_for

_WIDTH_IN_A_FILE: Final = 110
_STYLES: Final = {"good": "green", "warn": "yellow", "bad": "bold red", "move": "cyan", "dim": "dim"}
_FRAME: Final = 0.1
"""Seconds for which a picture stands at least."""
_MOST_POINTS: Final = 30
_NEXT: Final = """
The same on a cluster:   docs/start.md, or `make demo` in a checkout: a real vLLM, measured
As a page:               specdec demo --page story.html
Your own recording:      specdec replay TRACE.jsonl"""


def show(recording: StoryRecording, seen: Sequence[Moment], speed: float) -> None:
    """The whole story. speed: on a terminal, against the clock; inf: nothing waits. A pipe gets no colours, and no
    spaces at the ends of lines.
    """
    console, glyphs = Console(highlight=False, markup=False), glyphs_for(sys.stdout.encoding)
    if console.is_terminal:
        Show(console, glyphs, speed).run(recording, seen)
        return
    console = Console(highlight=False, markup=False, width=_WIDTH_IN_A_FILE)
    with console.capture() as captured:
        Show(console, glyphs, math.inf).run(recording, seen)
    typer.echo("\n".join(each.rstrip() for each in captured.get().splitlines()))


@dataclass(slots=True)
class Show:
    """The story on a console. speed: of the story against the clock; inf: nothing waits and nothing moves."""

    console: Console
    glyphs: Glyphs
    speed: float
    tokens: list[float] = field(default_factory=list)
    accepted: list[float] = field(default_factory=list)

    def run(self, recording: StoryRecording, seen: Sequence[Moment]) -> None:
        """Show all of it. Ctrl-C leaves the terminal as it was."""
        self.console.print(Text(f"{RECORDED} No cluster is used.", style="bold"))
        self._print(_pairs(sources(recording)))
        if math.isinf(self.speed):
            self._chapters(seen, None)
        else:
            with Live(console=self.console, auto_refresh=False, transient=True) as live:
                self._chapters(seen, live)
        self.console.print()
        self.console.print(Text(outcome(seen), style="bold"))
        self.console.print(_NEXT, soft_wrap=True)

    def _chapters(self, seen: Sequence[Moment], live: Live | None) -> None:
        before: Moment | None = None
        for number, (chapter, each) in enumerate(chapters(seen), start=1):
            self._head(number, chapter)
            for moment in each:
                self._pass(moment, before, live)
                for line in lines(before, moment):
                    self._print(_row(line))
                before = moment
            if speed := speeds(chapter):
                self._print(Text(speed, style="bold"))
            if chapter.looks:
                self._typed(chapter)
                self._print(page(each[-1].service, each[-1].now, self.glyphs))

    def _head(self, number: int, chapter: Chapter) -> None:
        self.console.print()
        self.console.print(Text(f"{number}. {chapter.title}", style="bold"))
        self._print(Text(chapter.text))
        if chapter.command and not chapter.looks:
            self._typed(chapter)

    def _typed(self, chapter: Chapter) -> None:
        self._print(Text(f"$ {chapter.command}", style="bold"))

    def _pass(self, moment: Moment, before: Moment | None, live: Live | None) -> None:
        """Let the time pass that lies before a moment, and show where the story is."""
        at, earlier = before.at if before else 0.0, before or moment
        while live is not None and (left := (moment.at - at) / self.speed) > 0:
            live.update(self._now(earlier, at), refresh=True)
            time.sleep(min(left, _FRAME))
            at += min(left, _FRAME) * self.speed
        self._note(moment)
        if live is not None:
            live.update(self._now(moment, moment.at), refresh=True)

    def _note(self, moment: Moment) -> None:
        for values, value in ((self.tokens, moment.load.tokens_per_second), (self.accepted, moment.load.acceptance)):
            if value is not None:
                values.append(value)
                del values[:-_MOST_POINTS]

    def _now(self, moment: Moment, at: float) -> RenderableType:
        """The present point of the story: one table, which is drawn again each time."""
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=False)
        table.add_row("time", clock(at), Text(moment.phase, style="bold"))
        table.add_row("traffic", moment.chapter.traffic)
        for name, values, digits in (("tokens/s", self.tokens, 0), ("acceptance", self.accepted, 2)):
            newest = f"{values[-1]:.{digits}f}" if values else "-"
            table.add_row(name, newest, Text(_bars(values, self.glyphs), style="cyan"))
        return Padding(table, (1, 0, 0, 3))

    def _print(self, shown: RenderableType) -> None:
        self.console.print(Padding(shown, (0, 0, 0, 3), expand=False))


def _pairs(rows: Iterator[tuple[str, str]]) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True, style="dim")
    table.add_column(overflow="fold", style="dim")
    for each in rows:
        table.add_row(*each)
    return table


def _row(line: StoryLine) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True, style="dim")
    table.add_column(no_wrap=True, min_width=16)
    table.add_column(overflow="fold")
    table.add_row(line.clock, Text(line.head, style=_STYLES.get(line.tone, "")), line.text)
    return table


def _bars(values: Sequence[float], glyphs: Glyphs) -> str:
    """The course of some values, from zero to the highest of them."""
    top = max(values, default=0.0) or 1.0
    return "".join(glyphs.steps[round(max(0.0, each) / top * (len(glyphs.steps) - 1))] for each in values)
