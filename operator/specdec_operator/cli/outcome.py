"""What a user's act on a sis comes to: whether it makes sense now, what follows, and when it is done. Pure."""

from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from specdec_operator import names
from specdec_operator.cli.found import Found
from specdec_operator.cli.status_words import asked
from specdec_operator.guard.state import Phase

_MOST_REASON: Final = 100


class Act(StrEnum):
    """What a user asks of the operator, by an annotation with a new value."""

    ROLLBACK = "rollback"
    """Take speculation out."""
    RETRY = "retry"
    """Try again what the spec asks for."""


ANNOTATIONS: Final = MappingProxyType({Act.ROLLBACK: names.ROLLBACK_ANNOTATION, Act.RETRY: names.RETRY_ANNOTATION})
_HANDLED: Final = MappingProxyType({Act.ROLLBACK: "handledRollback", Act.RETRY: "handledRetry"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How an act ended. good: whether as asked."""

    good: bool
    message: str


def nonce(time: str, reason: str) -> str:
    """A value that was never there: the time, and why in one line. The operator quotes it in status."""
    words = " ".join("".join(each if each.isprintable() else " " for each in reason).split())
    return f"{time} {words[:_MOST_REASON]}".rstrip()


def pointless(act: Act, sis: Found) -> str:
    """Why there is nothing to do; empty where there is."""
    if not sis.of("spec", "speculation").there:
        return "it asks for no speculation: there is nothing to roll back or to try again"
    guard = sis.of("status", "guard")
    if act is Act.RETRY and guard.there and not guard.of("rollback").there and not guard.of("reduced").there:
        phase = guard.of("state").text
        way_out = ": change what the message complains of" if phase == Phase.STALLED else ""
        return f"nothing was rolled back or reduced, so there is nothing to try again; it is {phase or 'new'}{way_out}"
    return ""


def announced(act: Act, name: str, sis: Found) -> str:
    """What happens next."""
    if act is Act.ROLLBACK:
        return (
            f"{name}: speculation is taken out, pod by pod as spec.rollout says. It stays out until "
            f"`specdec retry {name}` or another spec.speculation."
        )
    return (
        f"{name}: {asked(sis)} is tried again: rolled out, warmed up and judged as if it were new. "
        "What serves now goes on until the new pods do."
    )


def taken_note(act: Act, sis: Found, value: str) -> bool:
    """Whether the operator has seen it."""
    return sis.of("status", "guard", _HANDLED[act]).value == value


def ended(act: Act, sis: Found, value: str) -> Outcome | None:
    """How the act ended; None while it goes on."""
    if sis.of("metadata", "annotations", ANNOTATIONS[act]).value != value:
        return Outcome(
            good=False, message="somebody asked for something else meanwhile: the annotation has another value"
        )
    if not taken_note(act, sis, value):
        return None
    status = sis.of("status")
    phase, message = status.of("guard", "state").text, status.of("message").text
    if phase == Phase.STALLED:
        return Outcome(good=False, message=f"Stalled: {message}")
    return _rolled_back(status, phase, message) if act is Act.ROLLBACK else _tried_again(status, phase, message)


def _rolled_back(status: Found, phase: str, message: str) -> Outcome | None:
    if phase not in (Phase.ROLLED_BACK, Phase.WATCHING, Phase.SERVING):
        return None
    plain = not status.of("serving", "speculating").flag
    return Outcome(good=plain, message=f"{phase}: {message}" if plain else f"it speculates again, {phase}: {message}")


def _tried_again(status: Found, phase: str, message: str) -> Outcome | None:
    guard = status.of("guard")
    if guard.of("rollback").there or guard.of("reduced").there:
        return Outcome(good=False, message=f"taken back again, {phase}: {message}")
    if phase in (Phase.WATCHING, Phase.SERVING):
        return Outcome(good=True, message=f"{phase}: {message}")
    return None
