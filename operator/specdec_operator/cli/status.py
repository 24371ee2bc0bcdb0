"""`specdec status [NAME]`: what a sis does and why, with its numbers; or all sis of a namespace in a table."""

import json
import sys
from datetime import UTC, datetime
from typing import Annotated, Any

import typer
from rich.console import Console, RenderableType
from rich.table import Table

from specdec_operator.cli.connect import AnyName, Body, Context, Kubeconfig, Namespace, Services, Where, done, services
from specdec_operator.cli.found import Found
from specdec_operator.cli.status_view import page
from specdec_operator.cli.status_words import NO_OPERATOR, glyphs_for, orphaned, span

Everywhere = Annotated[bool, typer.Option("-A", "--all-namespaces", help="List the sis of all namespaces.")]
AsJson = Annotated[bool, typer.Option("--json", help="The object as the API server keeps it, for programs.")]


def status(
    name: AnyName = None,
    *,
    namespace: Namespace = None,
    everywhere: Everywhere = False,
    as_json: AsJson = False,
    context: Context = None,
    kubeconfig: Kubeconfig = None,
) -> None:
    """Show what a sis does and why: verdict, acceptance, what fewer tokens would do, speed, history."""
    if name is not None and everywhere:
        raise typer.BadParameter("one sis has one namespace: NAME and -A exclude each other")
    where = Where(namespace=namespace, context=context, kubeconfig=kubeconfig)
    done(_one(where, name, as_json) if name is not None else _all(where, everywhere, as_json))


async def _one(where: Where, name: str, as_json: bool) -> int:
    async with services(where) as found:
        sis = await found.one(name)
    now = datetime.now(UTC)
    if as_json:
        _say_json(sis)
    else:
        say(page(sis, now, glyphs_for(sys.stdout.encoding)))
    return orphan(sis, now)


async def _all(where: Where, everywhere: bool, as_json: bool) -> int:
    async with services(where) as found:
        listed = await found.all(everywhere=everywhere, table=not as_json)
        if as_json:
            _say_json(listed)
        elif not listed.get("rows"):
            typer.echo(f"no sis {_place(found, everywhere)}", err=True)
        else:
            say(table(listed, everywhere=everywhere))
    return 0


def _place(found: Services, everywhere: bool) -> str:
    return "in any namespace" if everywhere else f"in namespace {found.namespace}"


def orphan(sis: Body, now: datetime) -> int:
    """The exit code for a sis; 1 and words where no operator looks at it."""
    read = Found(sis)
    if not orphaned(read, now):
        return 0
    made = read.of("metadata", "creationTimestamp").time or now
    typer.echo(f"error: no operator has looked at it in {span((now - made).total_seconds())}. {NO_OPERATOR}", err=True)
    return 1


def table(listed: Body, *, everywhere: bool) -> Table:
    """A list as `kubectl get sis` shows it: the columns are the API server's own."""
    found = Found(listed)
    shown = [
        (index, column.of("name").text)
        for index, column in enumerate(found.of("columnDefinitions").items)
        if not column.of("priority").number
    ]
    heads = [head.upper() for _, head in shown]
    made = Table(*(["NAMESPACE"] if everywhere else []), *heads, box=None, pad_edge=False, header_style="bold")
    for row in found.of("rows").items:
        cells = row.of("cells").items
        place = [row.of("object", "metadata", "namespace").text] if everywhere else []
        made.add_row(*place, *(cells[index].text if index < len(cells) else "" for index, _ in shown))
    return made


def say(shown: RenderableType) -> None:
    """Prints to a terminal as it is, and to a pipe without colours and without spaces at the ends of lines."""
    console = Console(highlight=False, markup=False)
    if console.is_terminal:
        console.print(shown)
        return
    with console.capture() as captured:
        console.print(shown)
    typer.echo("\n".join(each.rstrip() for each in captured.get().splitlines()))


def _say_json(found: dict[str, Any]) -> None:
    for each in (found, *found.get("items", ())):
        each.get("metadata", {}).pop("managedFields", None)
    typer.echo(json.dumps(found, indent=2, ensure_ascii=False))
