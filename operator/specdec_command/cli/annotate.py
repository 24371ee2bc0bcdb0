"""`specdec rollback | retry | hold | release NAME`: the user's own acts, by annotations. The spec stays as it is."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
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
from specdec_operator import names
from specdec_operator.display.describe import NO_OPERATOR, held_since, line_without_time, requested
from specdec_operator.display.untrusted import Untrusted
from specdec_operator.errors import Unavailable
from specdec_operator.guard.state import Phase

_EVERY: Final = 1.0
_NOTICED: Final = 60.0
"""Seconds in which a running operator takes note of an annotation."""
_MOST_REASON: Final = 100


class UserCommand(StrEnum):
    """What a user asks of the operator, by an annotation with a new value."""

    ROLLBACK = "rollback"
    """Take speculation out."""
    RETRY = "retry"
    """Try again what the spec asks for."""


_ANNOTATIONS: Final = {UserCommand.ROLLBACK: names.ROLLBACK_ANNOTATION, UserCommand.RETRY: names.RETRY_ANNOTATION}


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandOutcome:
    """How an act ended. good: whether as asked."""

    good: bool
    message: str


def nonce(time: str, reason: str) -> str:
    """A value that was never there: the time, and why in one line. The operator quotes it in status."""
    line = Untrusted(reason).text
    return f"{time} {line[:_MOST_REASON]}".rstrip()


def pointless(act: UserCommand, service: Untrusted) -> str:
    """Why there is nothing to do; empty where there is."""
    guards = service.of("spec", "inferenceServiceRef").there  # whose own flags ask for it
    if not guards and not service.of("spec", "speculation").there:
        return "the service requests no speculation, so there is nothing to roll back or to retry"
    guard = service.of("status", "guard")
    if act is UserCommand.RETRY and guard.there and not _takes_back(guard):
        phase = guard.of("state").text
        way_out = ": fix the problem that its message names" if phase == Phase.STALLED else ""
        return (
            "the guard has not rolled back, reduced or dialled anything, so there is nothing to retry; the service is "
            f"{phase or 'new'}{way_out}"
        )
    return ""


def _takes_back(guard: Untrusted) -> bool:
    """Whether less is served than the spec requests, by a decision of the guard."""
    return any(guard.of(decision).there for decision in ("rollback", "reduced", "dial"))


def taken_note(act: UserCommand, service: Untrusted, value: str) -> bool:
    """Whether the operator has seen it."""
    return service.of("status", "guard", f"handled{act.capitalize()}").value == value


def ended(act: UserCommand, service: Untrusted, value: str) -> CommandOutcome | None:
    """How the act ended; None while it goes on."""
    if service.of("metadata", "annotations", _ANNOTATIONS[act]).value != value:
        another = "a newer request replaced this one: the annotation has another value"
        return CommandOutcome(good=False, message=another)
    if not taken_note(act, service, value):
        return None
    status, guard = service.of("status"), service.of("status", "guard")
    phase = guard.of("state").text
    told = f"{phase}: {status.of('message').text}"
    if phase == Phase.STALLED:
        return CommandOutcome(good=False, message=told)
    if act is UserCommand.RETRY and _takes_back(guard):
        return CommandOutcome(good=False, message=f"the guard took speculation out again, {told}")
    if phase not in (Phase.WATCHING, Phase.SERVING) and (act is UserCommand.RETRY or phase != Phase.ROLLED_BACK):
        return None
    speculates = act is UserCommand.ROLLBACK and status.of("serving", "speculating").flag
    return CommandOutcome(good=not speculates, message=f"the service speculates again, {told}" if speculates else told)


Reason = Annotated[str, typer.Option(help="The reason, in a short text. The status shows it with the decision.")]
Wait = Annotated[bool, typer.Option("--wait", help="Wait until it is done. The exit code is 1 if it ends differently.")]
Timeout = Annotated[str, typer.Option(metavar="DURATION", help="Longest wait, such as 10m.")]


def _command(act: UserCommand, purpose: str) -> Callable[..., None]:
    def command(
        name: Name,
        *,
        reason: Reason = "",
        wait: Wait = False,
        timeout: Timeout = "1h",
        namespace: Namespace = None,
        context: Context = None,
        kubeconfig: Kubeconfig = None,
    ) -> None:
        where = ClusterChoice(namespace=namespace, context=context, kubeconfig=kubeconfig)
        done(_act(act, where, name, reason, seconds_of("--timeout", timeout) if wait else None))

    command.__doc__ = purpose
    return command


rollback: Final = _command(
    UserCommand.ROLLBACK, "Take speculation out now, until `specdec retry` or another spec.speculation."
)
retry: Final = _command(
    UserCommand.RETRY, "Retry the speculation that the spec requests, after a rollback or a reduction."
)


def hold(
    name: Name,
    *,
    reason: Reason = "",
    namespace: Namespace = None,
    context: Context = None,
    kubeconfig: Kubeconfig = None,
) -> None:
    """Stop the guard from acting by itself: it measures, and shows what it would do."""
    done(_hold(ClusterChoice(namespace=namespace, context=context, kubeconfig=kubeconfig), name, nonce(_now(), reason)))


def release(name: Name, *, namespace: Namespace = None, context: Context = None, kubeconfig: Kubeconfig = None) -> None:
    """End `specdec hold`: the guard acts again."""
    done(_hold(ClusterChoice(namespace=namespace, context=context, kubeconfig=kubeconfig), name, None))


async def _act(act: UserCommand, where: ClusterChoice, name: str, reason: str, timeout: float | None) -> int:
    async with services(where) as client:
        if why_not := pointless(act, Untrusted(await client.one(name))):
            raise Unavailable("NothingToDo", f"{name}: {why_not}")
        value = nonce(_now(), reason)
        service = Untrusted(await client.annotate(name, _ANNOTATIONS[act], value))
        plain = "the operator takes speculation out, as spec.rollout defines. It stays out until "
        plain += f"`specdec retry {name}` or another spec.speculation."
        again = f"the operator retries {requested(service)}: rollout, warmup and windows are those of a new one. "
        again += "The current pods serve until the new ones are ready."
        typer.echo(f"{name}: {plain if act is UserCommand.ROLLBACK else again}")
        if timeout is None:
            typer.echo(f"Follow it: specdec watch {name} -n {client.namespace}")
            return 0
        return await _awaited(act, client, name, value, timeout)


async def _awaited(act: UserCommand, client: NamespaceServices, name: str, value: str, timeout: float) -> int:
    """Waits until the act is done, and prints each change meanwhile. Raises Unavailable when the time is over."""
    clock = asyncio.get_running_loop().time
    begun, last = clock(), ""
    while True:
        service = Untrusted(await client.one(name))
        if (end := ended(act, service, value)) is not None:
            typer.echo(f"{name}: {end.message}" if end.good else f"error: {name}: {end.message}", err=not end.good)
            return 0 if end.good else 1
        waited, summary = clock() - begun, line_without_time(service, datetime.now(UTC))
        if waited > min(_NOTICED, timeout) and not taken_note(act, service, value):
            raise Unavailable(
                "NoOperator", f"the operator has not handled the request within {waited:.0f} s. {NO_OPERATOR}"
            )
        if waited > timeout:
            raise Unavailable("TimedOut", f"{name}: not done in {waited:.0f} s, and still in progress: {summary}")
        if summary != last:
            typer.echo(summary, err=True)
            last = summary
        await asyncio.sleep(_EVERY)


async def _hold(where: ClusterChoice, name: str, value: str | None) -> int:
    """Holds the guard, or releases it if the value is None; prints its new state."""
    async with services(where) as client:
        since = held_since(Untrusted(await client.one(name)), datetime.now(UTC))
        if bool(since) is (value is None):
            await client.annotate(name, names.HOLD_ANNOTATION, value)
    held = "held. The guard keeps measuring and shows what it would do. It changes nothing until "
    held += f"`specdec release {name}`. `specdec rollback` and `specdec retry` still work."
    if value is None:
        now = "released, the guard acts by itself again" if since else "was not held"
    else:
        now = f"is held already, {since}" if since else held
    typer.echo(f"{name}: {now}")
    return 0


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
