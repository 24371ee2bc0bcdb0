"""Why a service cannot guard what it names. Pure."""

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from specdec_operator.api.guest import GuestKind, GuestRef
from specdec_operator.errors import Invalid
from specdec_operator.names import KIND, OWNER_LABEL
from specdec_operator.observe.ownership import controller_of

Body: TypeAlias = Mapping[str, Any]
GUEST_MISSING: Final = "GuestMissing"
GUEST_TAKEN: Final = "GuestTaken"
GUEST_TOO_LARGE: Final = "GuestTooLarge"
TOO_MANY_GUESTS: Final = "TooManyGuests"


def is_missing(ref: GuestRef, namespace: str) -> Invalid:
    """There is nothing of that name."""
    kind = "inferenceservices" if ref.kind is GuestKind.INFERENCE_SERVICE else "deployments"
    see = f"`kubectl get {kind} -n {namespace}` lists them"
    rule = f"namespace {namespace} has no {ref}, or the operator may not read it: {see}; the operator keeps checking"
    return Invalid(ref.field, ref.name, rule, reason=GUEST_MISSING)


def served_by_a_service(ref: GuestRef, live: Body, mine: str) -> Invalid | None:
    """A service of the operator's own has its guard already. mine: this service's name where it has made one itself."""
    if mine:
        way_out = "delete this service with deletionPolicy Orphan, and make a new one with the reference"
        rule = f"{KIND} {mine} serves InferenceService {mine} itself and cannot guard {ref} as well: {way_out}"
        return Invalid(ref.field, ref.name, rule, reason=GUEST_TAKEN)
    meta = live["metadata"]
    controller = controller_of(meta)
    owner = controller.name if controller and controller.kind == KIND else (meta.get("labels") or {}).get(OWNER_LABEL)
    if owner is None:
        return None
    rule = f"{KIND} {owner} serves and guards {ref}: set spec.guard there, and delete this service"
    return Invalid(ref.field, ref.name, rule, reason=GUEST_TAKEN)


def claimed_by_another(ref: GuestRef, name: str, older: str) -> Invalid:
    """An older service names the same. name: of this one."""
    rule = f"{KIND} {older} already guards {ref}, and {name} is newer: delete one of the two"
    return Invalid(ref.field, ref.name, rule, reason=GUEST_TAKEN)


def is_too_large(ref: GuestRef, rule: str) -> Invalid:
    """More of it than is read. rule: the sentence about it."""
    return Invalid(ref.field, ref.name, rule, reason=GUEST_TOO_LARGE)


def is_one_too_many(ref: GuestRef, namespace: str, most: int) -> Invalid:
    """As many older services of the namespace as are allowed guard something."""
    rule = f"the operator guards at most {most} existing services of a namespace, the oldest {KIND} objects first"
    way_out = "delete others that are not needed, or ask the administrator for a larger guestsPerNamespace"
    return Invalid(ref.field, ref.name, f"{rule}, and {namespace} has more: {way_out}", reason=TOO_MANY_GUESTS)
