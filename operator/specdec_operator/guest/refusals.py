"""Why a service cannot guard what it names. Pure."""

from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeAlias

from specdec_operator.api.guest import GuestKind, GuestRef
from specdec_operator.errors import Invalid
from specdec_operator.names import KIND, OWNER_LABEL
from specdec_operator.observe.ownership import controller_of

Body: TypeAlias = Mapping[str, Any]
GUEST_MISSING: Final = "GuestMissing"
GUEST_TAKEN: Final = "GuestTaken"


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


def claimed_by_another(ref: GuestRef, body: Body, services: Iterable[Body]) -> Invalid | None:
    """An older service names the same. body: this one."""
    mine = _age(body)
    for each in sorted(services, key=_age):
        if _age(each) >= mine:
            return None
        if _names(each, ref):
            older, name = each["metadata"]["name"], body["metadata"]["name"]
            rule = f"{KIND} {older} already guards {ref}, and {name} is newer: delete one of the two"
            return Invalid(ref.field, ref.name, rule, reason=GUEST_TAKEN)
    return None


def _age(body: Body) -> tuple[str, str]:
    meta = body["metadata"]
    return str(meta.get("creationTimestamp", "")), str(meta["name"])


def _names(body: Body, ref: GuestRef) -> bool:
    field = ref.field.split(".")[1]
    return not body["metadata"].get("deletionTimestamp") and (body.get("spec") or {}).get(field) == {"name": ref.name}
