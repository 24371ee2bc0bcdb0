"""The owner of an object, by its metadata. What is not a service's own is not written, adopted or deleted. Pure.

Its own is what it controls, by uid; and what no object controls and it has noted the uid of. Names and labels are soon
copied and prove nothing. A mark in the object's labels or annotations would not do: KServe copies these to the pods,
and each change of them makes new ones.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from specdec_operator.errors import Invalid
from specdec_operator.names import ADOPT_ANNOTATION, KIND

NAME_TAKEN: Final = "NameTaken"
LOOK_AGAIN: Final = 30.0
"""Seconds after which a name that is taken is looked at again."""
_MOST_WRITERS: Final = 3
_RULE: Final = "it does not belong to this service, and the operator never changes objects of others"
_WAIT: Final = f"this service continues within {LOOK_AGAIN:.0f} s after the name is free"


class Standing(StrEnum):
    """The owner of the object of a name: the service itself; none, since it does not exist; uncontrolled; another."""

    OURS = "Ours"
    FREE = "Free"
    LOOSE = "Loose"
    HELD = "Held"


@dataclass(frozen=True, slots=True, kw_only=True)
class Controller:
    """The one owner of an object that controls it."""

    kind: str
    name: str
    uid: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Owned:
    """An object that is a service's own although it has no owner reference."""

    kind: str
    name: str
    uid: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Claimant:
    """A service that is to write an object. uid: its own. noted: uids of objects that it knows to be its own.

    adopts: whether the user lets it take over what no object controls.
    """

    uid: str
    noted: frozenset[str] = frozenset()
    adopts: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnerView:
    """What was found under a name before a write. uid, controller: of the object. live: all of it, if it was read."""

    standing: Standing
    uid: str = ""
    controller: Controller | None = None
    live: Mapping[str, Any] | None = None


def controller_of(meta: Mapping[str, Any]) -> Controller | None:
    """Who controls an object, by its metadata."""
    for each in meta.get("ownerReferences") or ():
        if each.get("controller"):
            return Controller(kind=str(each["kind"]), name=str(each["name"]), uid=str(each["uid"]))
    return None


def standing_of(uid: str, controller: Controller | None, claimant: Claimant) -> Standing:
    """Whose an object is that is there. uid: its own."""
    if controller is not None:
        return Standing.OURS if controller.uid == claimant.uid else Standing.HELD
    return Standing.OURS if uid in claimant.noted else Standing.LOOSE


def look_at(live: Mapping[str, Any] | None, claimant: Claimant) -> OwnerView:
    """What an object is to a service. live: as the API server has it; None: there is none."""
    if live is None:
        return OwnerView(standing=Standing.FREE)
    meta = live["metadata"]
    uid, controller = str(meta.get("uid", "")), controller_of(meta)
    return OwnerView(standing=standing_of(uid, controller, claimant), uid=uid, controller=controller, live=live)


def is_adopted(kind: str, look: OwnerView, claimant: Claimant) -> bool:
    """Whether an object is to be taken over. A Job is not: nothing of it can be changed."""
    return look.standing is Standing.LOOSE and claimant.adopts and kind != "Job"


def name_taken(kind: str, name: str, look: OwnerView, claimant: Claimant) -> Invalid | None:
    """Why an object must not be written; None where it may be."""
    if look.standing in (Standing.OURS, Standing.FREE) or is_adopted(kind, look, claimant):
        return None
    rule = f"{_RULE}: {_way_out(kind, name, look)}; {_WAIT}"
    return Invalid(f"{kind} {name}", whose(look), rule, reason=NAME_TAKEN)


def whose(look: OwnerView) -> str:
    """A phrase for what controls an object, or else what wrote it."""
    meta = (look.live or {}).get("metadata", {})
    ends = ", being deleted" if meta.get("deletionTimestamp") else ""
    if look.controller is not None:
        return f"controlled by {look.controller.kind} {look.controller.name} (uid {look.controller.uid}){ends}"
    entries = meta.get("managedFields") or ()
    writers = sorted({str(each.get("manager", "")) for each in entries if not each.get("subresource")} - {""})
    return f"without a controller, written by {', '.join(writers[:_MOST_WRITERS]) or 'an unknown client'}{ends}"


def _way_out(kind: str, name: str, look: OwnerView) -> str:
    away = f"delete or rename {kind} {name}, or give this service another name"
    if kind == "Job":
        return f"delete Job {name}, or give this service another name; the operator never takes over a Job"
    if look.controller is None:
        return (
            f'{away}, or annotate this service with {ADOPT_ANNOTATION}="true" to let it take over the existing {kind}'
        )
    if look.controller.kind == KIND and look.controller.name == name.removesuffix("-models"):
        return f"its owner is a deleted service of this name, and Kubernetes removes it soon; otherwise {away}"
    return (
        f"{away}; the operator does not take over objects of another controller, and annotation {ADOPT_ANNOTATION} "
        "does not change this"
    )
