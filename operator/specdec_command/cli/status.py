"""`specdec status [NAME]`: what a service does and why, with its numbers; or all services of a namespace in a table.

`specdec watch NAME`: the same page, live; in a pipe, a line whenever something changes.
"""

import asyncio
import signal
import sys
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Annotated, Any, Final

import typer
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from specdec_command.cli.connect import (
    AnyName,
    Body,
    ClusterChoice,
    Context,
    Kubeconfig,
    Name,
    Namespace,
    NamespaceServices,
    done,
    services,
)
from specdec_command.cli.input import as_json, say
from specdec_command.cli.status_page import page
from specdec_operator.display.describe import NO_OPERATOR, glyphs_for, line, line_without_time, orphaned, span
from specdec_operator.display.untrusted import Untrusted
from specdec_operator.errors import UNANSWERED, Unavailable

Everywhere = Annotated[bool, typer.Option("-A", "--all-namespaces", help="List the services of all namespaces.")]
AsJson = Annotated[bool, typer.Option("--json", help="The object as the API server stores it, for programs.")]


def status(
    name: AnyName = None,
    *,
    namespace: Namespace = None,
    everywhere: Everywhere = False,
    as_json: AsJson = False,
    context: Context = None,
    kubeconfig: Kubeconfig = None,
) -> None:
    """Show what a service does and why: verdict, acceptance, what fewer tokens would do, speed, history."""
    if name is not None and everywhere:
        raise typer.BadParameter("NAME and -A exclude each other, because a service has one namespace")
    where = ClusterChoice(namespace=namespace, context=context, kubeconfig=kubeconfig)
    done(_one(where, name, as_json) if name is not None else _all(where, everywhere, as_json))


async def _one(where: ClusterChoice, name: str, as_json: bool) -> int:
    async with services(where) as client:
        service = await client.one(name)
    now = datetime.now(UTC)
    if as_json:
        _say_json(service)
    else:
        say(page(service, now, glyphs_for(sys.stdout.encoding)))
    return orphan(service, now)


async def _all(where: ClusterChoice, everywhere: bool, as_json: bool) -> int:
    async with services(where) as client:
        listed = await client.all(everywhere=everywhere, table=not as_json)
        if as_json:
            _say_json(listed)
        elif not listed.get("rows"):
            place = "any namespace" if everywhere else f"namespace {client.namespace}"
            typer.echo(f"no services in {place}", err=True)
        else:
            say(table(listed, everywhere=everywhere), by_row=True)
    return 0


def orphan(body: Body, now: datetime) -> int:
    """The exit code for a service; 1 and a message where no operator looks at it."""
    service = Untrusted(body)
    if not orphaned(service, now):
        return 0
    made = service.of("metadata", "creationTimestamp").time or now
    typer.echo(f"error: no operator has handled it in {span((now - made).total_seconds())}. {NO_OPERATOR}", err=True)
    return 1


def table(listed: Body, *, everywhere: bool) -> Table:
    """A list as `kubectl get sis` shows it: the columns are the API server's own."""
    columns = [
        (index, column.of("name").text)
        for index, column in enumerate(Untrusted(listed).of("columnDefinitions").items)
        if not column.of("priority").number
    ]
    heads = [head.upper() for _, head in columns]
    shown = Table(*(["NAMESPACE"] if everywhere else []), *heads, box=None, pad_edge=False, header_style="bold")
    for row in Untrusted(listed).of("rows").items:
        cells = row.of("cells").items
        place = [row.of("object", "metadata", "namespace").text] if everywhere else []
        shown.add_row(*place, *(cells[index].text if index < len(cells) else "" for index, _ in columns))
    return shown


def _say_json(body: dict[str, Any]) -> None:
    for each in (body, *body.get("items", ())):
        each.get("metadata", {}).pop("managedFields", None)
    typer.echo(as_json(body))


_EVERY: Final = 2.0
"""Seconds between two looks."""


def watch(name: Name, *, namespace: Namespace = None, context: Context = None, kubeconfig: Kubeconfig = None) -> None:
    """Show what a service does and why, again and again, until Ctrl-C."""
    where = ClusterChoice(namespace=namespace, context=context, kubeconfig=kubeconfig)
    done(_watch(where, name), interrupted=0)


async def _watch(where: ClusterChoice, name: str) -> int:
    task = asyncio.current_task()
    if task is not None:  # a terminal is left as it was, however the watch ends
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    async with services(where) as client:
        first = await client.one(name)
        looks = _looks(client, name, first)
        await (_live(looks) if sys.stdout.isatty() else _lines(looks))
    return 0


async def _looks(client: NamespaceServices, name: str, first: Body) -> AsyncIterator[tuple[Body, str]]:
    """The service now and then, and why it could not be read. Raises Unavailable when it is gone or forbidden."""
    service, trouble = first, ""
    while True:
        yield service, trouble
        await asyncio.sleep(_EVERY)
        try:
            service, trouble = await client.one(name), ""
        except Unavailable as error:
            if error.reason != UNANSWERED:  # else it may pass, and the watch goes on
                raise
            trouble = f"{error.message}; retrying"


async def _live(looks: AsyncIterator[tuple[Body, str]]) -> None:
    console = Console(highlight=False, markup=False)
    signs = glyphs_for(sys.stdout.encoding)
    shown: RenderableType = Text()
    try:
        with Live(console=console, screen=True, auto_refresh=False) as live:
            async for service, trouble in looks:
                shown = page(service, datetime.now(UTC), signs)
                shown = Group(Text(trouble, style="red"), shown) if trouble else shown
                live.update(shown, refresh=True)
    finally:
        say(shown)  # the screen that it was drawn on is gone


async def _lines(looks: AsyncIterator[tuple[Body, str]]) -> None:
    last = ""
    async for service, trouble in looks:
        now = datetime.now(UTC)
        if trouble:
            typer.echo(trouble, err=True)
        elif (summary := line_without_time(Untrusted(service), now)) != last:
            typer.echo(line(Untrusted(service), now))
            last = summary
