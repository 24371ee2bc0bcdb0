"""What a check may find: its kinds, with why each matters (data/kinds.json), and one occurrence of a kind."""

import json
import pathlib
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from specdec_operator.staging.compatibility import KSERVE, KUBERNETES

OLDEST_KUBERNETES: Final = KUBERNETES.oldest
OLDEST_KSERVE: Final = KSERVE.oldest
BUILT: Final = ("amd64", "arm64")
"""Architectures that the runtime images are built for."""


class DoctorSeverity(StrEnum):
    """FIX stands in the way of a service. LOOK may be meant so. UNKNOWN could not be looked at."""

    FIX = "fix"
    LOOK = "look"
    UNKNOWN = "unknown"


class Area(StrEnum):
    """What the checks are about, in the order in which they are shown."""

    KUBERNETES = "Kubernetes"
    KSERVE = "KServe"
    CRD = "the CRD"
    OPERATOR = "the operator"
    PERMISSIONS = "the operator's permissions"
    RUNTIMES = "runtimes"
    DEVICES = "devices"
    METRICS = "reaching the metrics"
    NAMESPACES = "namespaces and PVCs"
    SERVICES = "services"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProblemKind:
    """One thing that can be wrong. area: None if it can be found in any; why: what follows, as a part of a sentence."""

    id: str
    area: Area | None
    severity: DoctorSeverity
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DoctorFinding:
    """A kind, and its place. about: the object, as namespace/name; empty: the cluster. fix: how to fix it."""

    kind: ProblemKind
    area: Area
    about: str
    what: str
    fix: str

    @property
    def sentence(self) -> str:
        """What is: why it matters; how to fix it."""
        return f"{self.what}: {self.kind.why}; {self.fix}"


def _kinds() -> Iterator[ProblemKind]:
    text = (pathlib.Path(__file__).parent / "data" / "kinds.json").read_text(encoding="utf-8")
    for area, kinds in json.loads(text).items():
        for name, row in kinds.items():
            yield ProblemKind(
                id=name,
                area=None if area == "everything" else Area(area),
                severity=DoctorSeverity(row["severity"]),
                why=row["why"],
            )


KINDS: Final = {kind.id: kind for kind in _kinds()}
"""Everything that can be found, by its id, in the order of the areas."""


def finding(kind: str, about: str, what: str, fix: str, *, area: Area | None = None) -> DoctorFinding:
    """An occurrence of a kind. Raises ValueError for one that can be found in any area, if `area` is None."""
    found = KINDS[kind]
    if (place := area or found.area) is None:
        raise ValueError(f"{kind} can be found in any area: set the area")
    return DoctorFinding(kind=found, area=place, about=about, what=what, fix=fix)
