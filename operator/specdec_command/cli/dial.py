"""`specdec dial NAME K|off|reset`: draft tokens of the running engines, by an annotation. The spec stays as it is."""

import asyncio
import re
from datetime import UTC, datetime
from typing import Annotated, Final

import typer

from specdec_command.cli.connect import (
    ClusterChoice,
    Context,
    Kubeconfig,
    Name,
    Namespace,
    NamespaceServices,
    done,
    seconds_of,
    services,
)
from specdec_command.tune.dial import annotation, ended, without_dial
from specdec_operator import names
from specdec_operator.display.describe import NO_OPERATOR
from specdec_operator.display.untrusted import Untrusted
from specdec_operator.errors import Unavailable

_EVERY: Final = 0.2
_LONGEST: Final = 60.0
"""Seconds that `--wait` waits: pods follow within a second, or not at all."""
_VALUE: Final = re.compile(r"off|reset|\d{1,4}")


def _checked(word: str) -> str:
    if not _VALUE.fullmatch(word):
        raise typer.BadParameter(f"{word!r} is not `off`, `reset` or a number of draft tokens")
    return word


Value = Annotated[
    str,
    typer.Argument(
        metavar="K|off|reset", help="Draft tokens in each step; reset: as the spec defines.", callback=_checked
    ),
]
Ends = Annotated[str, typer.Option("--for", metavar="DURATION", help="How long, such as 10m. Default: until reset.")]
Why = Annotated[str, typer.Option(help="The reason, in a short text. The status shows it.")]
Wait = Annotated[bool, typer.Option("--wait", help="Wait until all pods follow. The exit code is 1 if they do not.")]


def dial(
    name: Name,
    value: Value,
    *,
    lasts: Ends = "",
    reason: Why = "",
    wait: Wait = False,
    namespace: Namespace = None,
    context: Context = None,
    kubeconfig: Kubeconfig = None,
) -> None:
    """Change the number of draft tokens of the running engines, without a rollout."""
    where = ClusterChoice(namespace=namespace, context=context, kubeconfig=kubeconfig)
    seconds = seconds_of("--for", lasts) if lasts else None
    text = annotation(value, seconds, reason, datetime.now(UTC).timestamp())
    done(_dial(where, name, value, text, wait=wait))


async def _dial(where: ClusterChoice, name: str, value: str, text: str | None, *, wait: bool) -> int:
    async with services(where) as client:
        service = Untrusted(await client.annotate(name, names.DIAL_ANNOTATION, text))
        asked = "as spec.speculation defines" if text is None else text
        typer.echo(f"{name}: the running engines are to draft: {asked}")
        if why := without_dial(service):
            typer.echo(f"{name}: {why}", err=True)
        return await _awaited(client, name, value) if wait else 0


async def _awaited(client: NamespaceServices, name: str, value: str) -> int:
    """Waits until all pods follow. Raises Unavailable when the time is over."""
    clock = asyncio.get_running_loop().time
    begun = clock()
    while True:
        service = Untrusted(await client.one(name))
        if (end := ended(service, value)) is not None:
            good, words = end
            typer.echo(f"{name}: {words}" if good else f"error: {name}: {words}", err=not good)
            return 0 if good else 1
        if clock() - begun > _LONGEST:
            told = service.of("status", "dial", "message").text or NO_OPERATOR
            raise Unavailable("TimedOut", f"{name}: not all pods follow after {_LONGEST:.0f} s: {told}")
        await asyncio.sleep(_EVERY)
