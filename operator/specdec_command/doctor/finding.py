"""What a check may find: its kinds, with why each matters (data/kinds.json), and one occurrence of a kind."""

import json
import pathlib
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from specdec_operator.names import VERSION
from specdec_operator.observe.pods import ENGINE_CONTAINER, ENGINE_PORT
from specdec_operator.staging.compatibility import KSERVE, KUBERNETES
from specdec_operator.staging.kserve import NEWEST, shown

OLDEST_KUBERNETES: Final = KUBERNETES.oldest
OLDEST_KSERVE: Final = KSERVE.oldest
BUILT: Final = ("amd64", "arm64")
"""Architectures that the runtime images are built for."""


class Severity(StrEnum):
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
class Kind:
    """One thing that can be wrong. when: when it is found; why: what comes of it, as a part of a sentence.

    area: None where it can be found in any.
    """

    id: str
    area: Area | None
    severity: Severity
    when: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A kind, and its place. about: the object, as namespace/name; empty: the cluster. fix: how to fix it."""

    kind: Kind
    area: Area
    about: str
    what: str
    fix: str

    @property
    def sentence(self) -> str:
        """What is: why it matters; how to fix it."""
        return f"{self.what}: {self.kind.why}; {self.fix}"


_STANDS_FOR: Final = {
    "{oldest_kubernetes}": shown(OLDEST_KUBERNETES),
    "{oldest_kserve}": shown(OLDEST_KSERVE),
    "{newest_kserve}": shown(NEWEST),
    "{version}": VERSION,
    "{architectures}": " or ".join(BUILT),
    "{port}": str(ENGINE_PORT),
    "{container}": ENGINE_CONTAINER,
}


def _kinds() -> Iterator[Kind]:
    text = (pathlib.Path(__file__).parent / "data" / "kinds.json").read_text(encoding="utf-8")
    for word, value in _STANDS_FOR.items():
        text = text.replace(word, value)
    for area, kinds in json.loads(text).items():
        for name, row in kinds.items():
            yield Kind(
                id=name,
                area=None if area == "everything" else Area(area),
                severity=Severity(row["severity"]),
                when=row["when"],
                why=row["why"],
            )


KINDS: Final = {kind.id: kind for kind in _kinds()}
"""Everything that can be found, by its id, in the order of the areas."""


def finding(kind: str, about: str, what: str, fix: str, *, area: Area | None = None) -> Finding:
    """An occurrence of a kind. Raises ValueError for one that can be found in any area, if `area` is None."""
    found = KINDS[kind]
    if (place := area or found.area) is None:
        raise ValueError(f"{kind} can be found in any area: set the area")
    return Finding(kind=found, area=place, about=about, what=what, fix=fix)
