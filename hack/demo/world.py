"""What the demo has seen of the sis and of what was made of it, with the moment of each change. Fed by watches; pure.

Moments are the demo's own clock at the arrival of a watch event: the times in the status have whole seconds only.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from specdec_operator.names import REVISION_LABEL

Object = Mapping[str, Any]
_SPECULATION = "--speculative-config"


class Kind(StrEnum):
    """What is watched."""

    SIS = "sis"
    CHILD = "InferenceService"
    POD = "pod"
    EVENT = "event"


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """The sis entered a phase."""

    at: float
    phase: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The InferenceService began to ask for something else."""

    at: float
    speculating: bool
    revision: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """A pod became ready."""

    at: float
    pod: str
    revision: str


@dataclass(slots=True, kw_only=True)
class World:
    """Everything seen so far. `pods` tells of each whether it is ready; `sis` is None where there is none."""

    sis: Object | None = None
    pods: dict[str, bool] = field(default_factory=dict)
    turns: list[Turn] = field(default_factory=list)
    asked: list[Asked] = field(default_factory=list)
    arrivals: list[Arrival] = field(default_factory=list)
    last_event: str = ""

    @property
    def status(self) -> Object:
        """The status of the sis; empty before the operator has looked at it."""
        found: Object = (self.sis or {}).get("status", {})
        return found

    @property
    def phase(self) -> str:
        """The phase of the sis; empty where it has none."""
        return str(self.status.get("phase", ""))

    @property
    def ready_pods(self) -> list[str]:
        """Names of the pods that serve."""
        return [name for name, ready in self.pods.items() if ready]

    def empty(self) -> bool:
        """Whether nothing of the service is left."""
        return self.sis is None and not self.pods

    def listed(self, kind: Kind, objects: Sequence[Object], at: float) -> None:
        """Take a full list: what it lacks has gone. Events that are listed are of the past."""
        if kind is Kind.EVENT:
            return
        if kind is Kind.SIS:
            self.sis = None
        if kind is Kind.POD:
            names = {each["metadata"]["name"] for each in objects}
            self.pods = {name: ready for name, ready in self.pods.items() if name in names}
        for each in objects:
            self.changed(kind, each, at)

    def changed(self, kind: Kind, thing: Object, at: float) -> None:
        """Take one new or changed object."""
        match kind:
            case Kind.SIS:
                self._sis(thing, at)
            case Kind.CHILD:
                self._child(thing, at)
            case Kind.POD:
                self._pod(thing, at)
            case Kind.EVENT:
                self.last_event = f"{thing.get('reason', '')}: {thing.get('message', '')}"

    def gone(self, kind: Kind, thing: Object) -> None:
        """Take a deletion."""
        if kind is Kind.SIS:
            self.sis = None
        elif kind is Kind.POD:
            self.pods.pop(thing["metadata"]["name"], None)

    def _sis(self, thing: Object, at: float) -> None:
        self.sis = thing
        if self.phase and (not self.turns or self.turns[-1].phase != self.phase):
            self.turns.append(Turn(at=at, phase=self.phase))

    def _child(self, thing: Object, at: float) -> None:
        predictor = thing["spec"]["predictor"]
        speculating = any(arg.startswith(_SPECULATION) for arg in predictor["model"].get("args", []))
        revision = predictor.get("labels", {}).get(REVISION_LABEL, "")
        if not self.asked or (self.asked[-1].speculating, self.asked[-1].revision) != (speculating, revision):
            self.asked.append(Asked(at=at, speculating=speculating, revision=revision))

    def _pod(self, thing: Object, at: float) -> None:
        metadata, conditions = thing["metadata"], thing.get("status", {}).get("conditions", [])
        name, leaving = metadata["name"], "deletionTimestamp" in metadata
        ready = not leaving and any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)
        if ready and not self.pods.get(name):
            revision = metadata.get("labels", {}).get(REVISION_LABEL, "")
            self.arrivals.append(Arrival(at=at, pod=name, revision=revision))
        self.pods[name] = ready
