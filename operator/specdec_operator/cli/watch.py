"""`specdec watch NAME`: the page of `specdec status`, live; in a pipe, a line whenever something changes."""

import asyncio
import signal
import sys
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Final

import typer
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from specdec_operator.cli.connect import Body, Context, Kubeconfig, Name, Namespace, Services, Where, done, services
from specdec_operator.cli.found import Found
from specdec_operator.cli.status import say
from specdec_operator.cli.status_view import page
from specdec_operator.cli.status_words import Glyphs, glyphs_for, line, line_without_time
from specdec_operator.errors import Unavailable

_EVERY: Final = 2.0
"""Seconds between two looks."""
_PASSES: Final = "ApiServerUnavailable"
"""Trouble that may pass: the watch goes on."""


def watch(name: Name, *, namespace: Namespace = None, context: Context = None, kubeconfig: Kubeconfig = None) -> None:
    """Show what a sis does and why, again and again, until Ctrl-C."""
    where = Where(namespace=namespace, context=context, kubeconfig=kubeconfig)
    done(_watch(where, name), interrupted=0)


async def _watch(where: Where, name: str) -> int:
    task = asyncio.current_task()
    if task is not None:  # a terminal is left as it was, however the watch ends
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    async with services(where) as found:
        first = await found.one(name)
        looks = _looks(found, name, first)
        await (_live(looks) if sys.stdout.isatty() else _lines(looks))
    return 0


async def _looks(found: Services, name: str, first: Body) -> AsyncIterator[tuple[Body, str]]:
    """The sis now and then, and what is wrong with looking at it. Raises Unavailable when it is gone or forbidden."""
    sis, trouble = first, ""
    while True:
        yield sis, trouble
        await asyncio.sleep(_EVERY)
        try:
            sis, trouble = await found.one(name), ""
        except Unavailable as error:
            if error.reason != _PASSES:
                raise
            trouble = f"{error.message}; trying again"


async def _live(looks: AsyncIterator[tuple[Body, str]]) -> None:
    console = Console(highlight=False, markup=False)
    signs = glyphs_for(sys.stdout.encoding)
    shown: RenderableType = Text()
    try:
        with Live(console=console, screen=True, auto_refresh=False) as live:
            async for sis, trouble in looks:
                shown = _shown(sis, trouble, signs)
                live.update(shown, refresh=True)
    finally:
        say(shown)  # the screen that it was drawn on is gone


def _shown(sis: Body, trouble: str, signs: Glyphs) -> RenderableType:
    seen = page(sis, datetime.now(UTC), signs)
    return Group(Text(trouble, style="red"), seen) if trouble else seen


async def _lines(looks: AsyncIterator[tuple[Body, str]]) -> None:
    told = ""
    async for sis, trouble in looks:
        now = datetime.now(UTC)
        if trouble:
            typer.echo(trouble, err=True)
        elif (said := line_without_time(Found(sis), now)) != told:
            typer.echo(line(Found(sis), now))
            told = said
