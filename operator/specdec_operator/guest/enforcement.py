"""Whether the guard may take the speculation of another owner's InferenceService out, and a sentence if not. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from specdec_operator.guest.patch import SpeculationPlace, TakenOut, bring_back, is_allowed, place_of, taken_out
from specdec_operator.names import ENFORCE_ANNOTATION, TAKEN_OUT_ANNOTATION

_OF_OTHERS: Final = ("TakenOutByAnother", "PutBack")
_LEAVE: Final = f"kubectl annotate isvc {{}} {ENFORCE_ANNOTATION}=true"


@dataclass(frozen=True, slots=True, kw_only=True)
class Enforcement:
    """may: whether it may be taken out, or is out. place: where it stands. taken: what is out now, and was by us.

    reason, message: of the condition; empty where the guard is not asked to act.
    """

    may: bool = False
    place: SpeculationPlace | None = None
    taken: TakenOut | None = None
    reason: str = ""
    message: str = ""

    def unasked(self) -> "Enforcement":
        """The same for a service that does not ask to act: only what was taken out, and by which service, is left."""
        kept = self.taken is not None or self.reason in _OF_OTHERS
        return replace(self, may=False) if kept else Enforcement()


def enforcement(live: Mapping[str, Any], *, uid: str, asked: bool) -> Enforcement:
    """What may be done. uid: of the service that guards the InferenceService. asked: whether its mode is Enforce."""
    name, place, taken = live["metadata"]["name"], place_of(live), taken_out(live)
    if taken is not None and taken.uid != uid:
        words = (
            f"{TAKEN_OUT_ANNOTATION} is of service {taken.service} (uid {taken.uid}), which is deleted or restores the "
            "flag"
        )
        return Enforcement(reason="TakenOutByAnother", message=words)
    if taken is not None and place is not None:
        words = "another client put the flag back, so the guard only observes; to let it act again, remove annotation"
        message = f"{words} {TAKEN_OUT_ANNOTATION} from InferenceService {name}"
        return Enforcement(reason="PutBack", message=message)
    if taken is not None:
        return _out(live, name, taken, asked=asked)
    return _stands(live, name, place) if asked else Enforcement()


def _stands(live: Mapping[str, Any], name: str, place: SpeculationPlace | None) -> Enforcement:
    """Nothing of it is out."""
    if not is_allowed(live):
        words = f"the owner has not allowed changes, so the guard only observes; to allow them: {_LEAVE.format(name)}"
        return Enforcement(reason="NotAllowed", message=words)
    if place is None:
        words = f"the flags of InferenceService {name} request no speculation, so the guard has nothing to remove"
        return Enforcement(reason="NotItsFlags", message=f"{words}; the guard does not change flags of its runtime")
    return Enforcement(
        may=True, place=place, reason="Allowed", message=f"the guard may remove the flag from {place.path}"
    )


def _out(live: Mapping[str, Any], name: str, taken: TakenOut, *, asked: bool) -> Enforcement:
    """It is out."""
    flags = " ".join(taken.words)
    if bring_back(live, taken) is None:
        words = f"the flags at {taken.path} have changed since, so the guard does not restore them; they were: {flags}"
        return Enforcement(taken=taken, reason="ChangedSince", message=words)
    if not is_allowed(live):
        words = (
            "speculation was removed, and the owner no longer allows changes; to allow its return: "
            f"{_LEAVE.format(name)}"
        )
        return Enforcement(taken=taken, reason="NotAllowed", message=f"{words}; the flags were: {flags}")
    return Enforcement(may=asked, taken=taken, reason="TakenOut", message=f"removed from {taken.path}: {flags}")
