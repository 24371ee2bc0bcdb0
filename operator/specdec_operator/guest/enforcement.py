"""Whether the guard may take the speculation of another owner's InferenceService out, and a sentence if not. Pure."""

from dataclasses import dataclass
from typing import Final

from specdec_operator.guest.own_flags import OwnFlags
from specdec_operator.guest.patch import SpeculationPlace, TakenOut
from specdec_operator.names import ENFORCE_ANNOTATION, TAKEN_OUT_ANNOTATION

OUT: Final = "TakenOut"
"""Reason of a flag that is out and may come back."""
REPLACED: Final = "Replaced"
_LEAVE: Final = f"kubectl annotate isvc {{}} {ENFORCE_ANNOTATION}=true"


@dataclass(frozen=True, slots=True, kw_only=True)
class Enforcement:
    """may: whether it may be taken out, or is out. place: where it stands. taken: what is out now, and was by us.

    written: False if the API server refused the last write, or something undid it. replaced: whether another client
    put the flag back and removed the annotation with it.
    reason, message: of the condition; empty where the guard is not asked to act.
    """

    may: bool = False
    written: bool = True
    replaced: bool = False
    place: SpeculationPlace | None = None
    taken: TakenOut | None = None
    reason: str = ""
    message: str = ""

    @property
    def holds(self) -> bool:
        """Whether the guard may act, and the API server lets it."""
        return self.may and self.written

    @property
    def word(self) -> str:
        """Why the guard may not act, in one word that is another one for each way out of it."""
        return REPLACED if self.replaced else self.reason


def enforcement(flags: OwnFlags, *, uid: str, asked: bool) -> Enforcement:
    """What may be done. uid: of the service that guards the InferenceService. asked: whether its mode is Enforce."""
    name, place, taken = flags.name, flags.place, flags.taken
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
        return _out(flags, taken, asked=asked)
    return _stands(flags, name, place) if asked else Enforcement()


def put_back_by_another(name: str, service: str) -> Enforcement:
    """The flag is back, and the annotation is gone: a tool that replaces the whole object leaves nothing of it.

    name: of the InferenceService; service: that guards it.
    """
    words = f"another client replaced InferenceService {name}, and the flag is back, so the guard only observes"
    message = f"{words}; to let it act again: specdec retry {service}"
    return Enforcement(reason="PutBack", message=message, replaced=True)


def _stands(flags: OwnFlags, name: str, place: SpeculationPlace | None) -> Enforcement:
    """Nothing of it is out."""
    if not flags.allowed:
        words = f"the owner has not allowed changes, so the guard only observes; to allow them: {_LEAVE.format(name)}"
        return Enforcement(reason="NotAllowed", message=words)
    if place is None and (why := flags.why_no_place):
        words = f"the guard cannot remove the flags of InferenceService {name} and nothing else: {why}"
        return Enforcement(reason="NotItsFlags", message=f"{words}; write them as words of the command that serves")
    if place is None:
        words = f"the flags of InferenceService {name} request no speculation, so the guard has nothing to remove"
        return Enforcement(reason="NotItsFlags", message=f"{words}; the guard does not change flags of its runtime")
    return Enforcement(
        may=True, place=place, reason="Allowed", message=f"the guard may remove the flag from {place.path}"
    )


def _out(flags: OwnFlags, taken: TakenOut, *, asked: bool) -> Enforcement:
    """It is out."""
    out = " ".join(taken.words)
    if flags.back is None:
        words = f"the flags at {taken.path} have changed since, so the guard does not restore them; they were: {out}"
        return Enforcement(taken=taken, reason="ChangedSince", message=words)
    if not flags.allowed:
        words = (
            "speculation was removed, and the owner no longer allows changes; to allow its return: "
            f"{_LEAVE.format(flags.name)}"
        )
        return Enforcement(taken=taken, reason="NotAllowed", message=f"{words}; the flags were: {out}")
    return Enforcement(may=asked, taken=taken, reason=OUT, message=f"removed from {taken.path}: {out}")
