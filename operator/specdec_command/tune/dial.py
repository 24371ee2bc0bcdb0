"""The dial as a user sets it: its annotation, whether the pods follow, and whether a service has one. Pure."""

from typing import Final

from specdec_command.measure.benchmark import Unmeasurable
from specdec_operator.api.times import to_time
from specdec_operator.display.untrusted import Untrusted
from specdec_operator.guard.dial import by_hand
from specdec_operator.names import DIAL_ANNOTATION

TUNING: Final = "specdec tune"
"""How the reason begins in the annotation that a tuning sets; its run follows."""


def annotation(value: str, seconds: float | None, why: str, now: float) -> str | None:
    """The annotation that asks for it; None: it is taken off. seconds: how long; None: without end."""
    if value == "reset":
        return None
    ends = "" if seconds is None else f" until {to_time(now + seconds)}"
    line = Untrusted(why).text
    return f"{value}{ends} {line}".rstrip()


def ended(service: Untrusted, value: str) -> tuple[bool, str] | None:
    """Whether the pods follow, with a sentence; None while it is open, or while the status is of another value."""
    dial = service.of("status", "dial")
    if value == "reset":
        return None if dial.there else (True, "the dial is not set, so each pod goes back to its flags")
    if dial.of("reason").text == "Refused":
        return False, dial.of("message").text
    pods, follow = dial.of("pods").value, dial.of("inForce").value
    rows = dial.of("tokensByBatchSize").items  # what the guard has set by load
    if pods and pods == follow and not rows and dial.of("tokens").value == (0 if value == "off" else int(value)):
        return True, f"{follow} of {pods} pods follow: {dial.of('message').text}"
    return None


def without_dial(service: Untrusted) -> str:
    """Why no pod of a service has a dial, by its spec; empty if some may."""
    if service.of("spec", "deploymentRef").there:
        return "the operator writes nothing to the pods of a Deployment, so no pod has a dial"
    guards = service.of("spec", "inferenceServiceRef").there  # whose own flags ask for speculation
    asks = guards or service.of("spec", "speculation").there
    return "" if asks else "the service requests no speculation, so no pod has a dial"


def check_tunable(service: Untrusted, now: float) -> None:
    """Raises Unmeasurable where other numbers of tokens cannot be tried in the running pods, with the way out. now:
    epoch seconds.
    """
    spec, name, guard = service.of("spec"), service.of("metadata", "name").text, service.of("status", "guard")
    turned = service.of("metadata", "annotations", DIAL_ANNOTATION).text
    set_now = any(by_hand(turned, 0, now))
    if spec.of("inferenceServiceRef").there or spec.of("deploymentRef").there:
        why = "its flags are its owner's; try numbers with `specdec dial`, and compare them with your own load"
    elif absent := without_dial(service):
        why = absent
    elif spec.of("guard", "dial", "mode").text == "Off":
        why = "guard.dial.mode is Off, so no pod has a dial; set it to Auto"
    elif spec.of("speculation", "tokensByBatchSize").items:
        why = "it has spec.speculation.tokensByBatchSize, whose rows are in force with the dial; remove them first"
    elif spec.of("guard", "tokens").text == "Adapt":
        why = "guard.tokens is Adapt, which finds the numbers by itself; set Recommend to tune it"
    elif guard.of("reduced").there:
        why = f"the guard has reduced its draft tokens; bring the requested number back first: specdec retry {name}"
    elif guard.of("control").there:
        why = "baseline pods answer part of its requests; set guard.control.mode to Never, or wait for their end"
    elif set_now:
        why = f"its dial is set ({turned}), by hand or by another run; reset it first: specdec dial {name} reset"
    else:
        return
    raise Unmeasurable("NotTunable", f"{name} cannot be tuned: {why}")


def requested_tokens(service: Untrusted) -> int:
    """Draft tokens of the running pods by their flags. Raises Unmeasurable where the draft decides."""
    tokens = service.of("status", "serving", "tokens").number
    if not tokens or tokens != int(tokens):
        name = service.of("metadata", "name").text
        raise Unmeasurable("NotTunable", f"{name} cannot be tuned: its flags have no number of draft tokens")
    return int(tokens)
