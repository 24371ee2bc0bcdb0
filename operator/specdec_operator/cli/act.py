"""`specdec rollback | retry | hold | release NAME`: the user's own acts, by annotations. The spec stays as it is."""

import asyncio
from datetime import UTC, datetime
from typing import Annotated, Final

import typer

from specdec_operator.api.durations import parse_duration
from specdec_operator.cli import outcome
from specdec_operator.cli.connect import Context, Kubeconfig, Name, Namespace, Services, Where, done, services
from specdec_operator.cli.found import Found
from specdec_operator.cli.outcome import ANNOTATIONS, Act
from specdec_operator.cli.status_words import NO_OPERATOR, held, line_without_time
from specdec_operator.errors import Unavailable
from specdec_operator.names import HOLD_ANNOTATION

_EVERY: Final = 1.0
_NOTICED: Final = 60.0
"""Seconds in which a running operator takes note of an annotation."""


Reason = Annotated[str, typer.Option(help="Why, in a few words; it is kept with the decision and shown in the status.")]
Wait = Annotated[bool, typer.Option("--wait", help="Wait until it is done; 1 where it comes to something else.")]
Timeout = Annotated[str, typer.Option(metavar="DURATION", help="Longest wait, such as 10m.")]


def rollback(
    name: Name,
    *,
    reason: Reason = "",
    wait: Wait = False,
    timeout: Timeout = "1h",
    namespace: Namespace = None,
    context: Context = None,
    kubeconfig: Kubeconfig = None,
) -> None:
    """Take speculation out now, until `specdec retry` or another spec.speculation."""
    where = Where(namespace=namespace, context=context, kubeconfig=kubeconfig)
    done(_act(Act.ROLLBACK, where, name, reason, _seconds(timeout) if wait else None))


def retry(
    name: Name,
    *,
    reason: Reason = "",
    wait: Wait = False,
    timeout: Timeout = "1h",
    namespace: Namespace = None,
    context: Context = None,
    kubeconfig: Kubeconfig = None,
) -> None:
    """Try again the speculation that the spec asks for, after a rollback or a reduction."""
    where = Where(namespace=namespace, context=context, kubeconfig=kubeconfig)
    done(_act(Act.RETRY, where, name, reason, _seconds(timeout) if wait else None))


def hold(
    name: Name,
    *,
    reason: Reason = "",
    namespace: Namespace = None,
    context: Context = None,
    kubeconfig: Kubeconfig = None,
) -> None:
    """Let the guard decide nothing by itself: it measures, and says what it would do."""
    done(_hold(Where(namespace=namespace, context=context, kubeconfig=kubeconfig), name, reason))


def release(name: Name, *, namespace: Namespace = None, context: Context = None, kubeconfig: Kubeconfig = None) -> None:
    """End `specdec hold`: the guard acts again."""
    done(_release(Where(namespace=namespace, context=context, kubeconfig=kubeconfig), name))


def _seconds(text: str) -> float:
    try:
        return parse_duration(text)
    except ValueError as error:
        raise typer.BadParameter(f"--timeout: {error}") from error


async def _act(act: Act, where: Where, name: str, reason: str, timeout: float | None) -> int:
    async with services(where) as found:
        if why_not := outcome.pointless(act, Found(await found.one(name))):
            raise Unavailable("NothingToDo", f"{name}: {why_not}")
        value = outcome.nonce(_now(), reason)
        sis = Found(await found.annotate(name, ANNOTATIONS[act], value))
        typer.echo(outcome.announced(act, name, sis))
        if timeout is None:
            typer.echo(f"Follow it: specdec watch {name} -n {found.namespace}")
            return 0
        return await _awaited(act, found, name, value, timeout)


async def _awaited(act: Act, found: Services, name: str, value: str, timeout: float) -> int:
    """Waits until the act is done, and tells each change meanwhile. Raises Unavailable when the time is over."""
    clock = asyncio.get_running_loop().time
    begun, told = clock(), ""
    while True:
        sis = Found(await found.one(name))
        if (end := outcome.ended(act, sis, value)) is not None:
            typer.echo(f"{name}: {end.message}" if end.good else f"error: {name}: {end.message}", err=not end.good)
            return 0 if end.good else 1
        waited = clock() - begun
        if waited > min(_NOTICED, timeout) and not outcome.taken_note(act, sis, value):
            raise Unavailable("NoOperator", f"the operator has taken no note of it in {waited:.0f} s. {NO_OPERATOR}")
        if waited > timeout:
            raise Unavailable("TimedOut", f"{name}: not done in {waited:.0f} s, it goes on: {_said(sis)}")
        if (said := _said(sis)) != told:
            typer.echo(said, err=True)
            told = said
        await asyncio.sleep(_EVERY)


def _said(sis: Found) -> str:
    return line_without_time(sis, datetime.now(UTC))


async def _hold(where: Where, name: str, reason: str) -> int:
    async with services(where) as found:
        if since := held(Found(await found.one(name)), datetime.now(UTC)):
            typer.echo(f"{name}: is held already, {since}")
            return 0
        await found.annotate(name, HOLD_ANNOTATION, outcome.nonce(_now(), reason))
    typer.echo(
        f"{name}: held. The guard goes on measuring and says what it would do; it changes nothing until "
        f"`specdec release {name}`. `specdec rollback` and `specdec retry` work meanwhile."
    )
    return 0


async def _release(where: Where, name: str) -> int:
    async with services(where) as found:
        was_held = bool(held(Found(await found.one(name)), datetime.now(UTC)))
        if was_held:
            await found.annotate(name, HOLD_ANNOTATION, None)
    typer.echo(f"{name}: released, the guard acts by itself again" if was_held else f"{name}: was not held")
    return 0


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
