"""What a check may find: its kinds, with why each matters, and one occurrence of a kind."""

from dataclasses import dataclass
from enum import StrEnum


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
    NAMESPACES = "namespaces and claims"
    SERVICES = "services"


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One thing that can be wrong. when: when it is found; why: what comes of it, as a part of a sentence."""

    id: str
    area: Area
    severity: Severity
    when: str
    why: str

    def found(self, about: str, what: str, fix: str) -> "Finding":
        """An occurrence. about: the object, as namespace/name; empty: the cluster. fix: how to mend it."""
        return Finding(kind=self, about=about, what=what, fix=fix)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A kind, where it was found."""

    kind: Kind
    about: str
    what: str
    fix: str

    @property
    def sentence(self) -> str:
        """What is: why it matters; how to fix it."""
        return f"{self.what}: {self.kind.why}; {self.fix}"
