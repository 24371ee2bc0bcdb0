"""All checks over a picture."""

from dataclasses import dataclass
from typing import Final

from specdec_operator.doctor import (
    check_access,
    check_crd,
    check_devices,
    check_kserve,
    check_metrics,
    check_operator,
    check_runtimes,
    check_seen,
    check_services,
    check_spaces,
)
from specdec_operator.doctor.finding import Area, Finding, Kind, Severity
from specdec_operator.doctor.operators import operators
from specdec_operator.doctor.picture import Picture

_CHECKS: Final = (
    check_kserve,
    check_crd,
    check_operator,
    check_access,
    check_runtimes,
    check_devices,
    check_metrics,
    check_spaces,
    check_services,
    check_seen,
)
KINDS: Final[tuple[Kind, ...]] = tuple(kind for each in _CHECKS for kind in each.KINDS)
"""Everything that can be found, in the order in which it is looked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Examined:
    """What was found. dark: areas for which something could not be read, so that silence says little."""

    findings: tuple[Finding, ...]
    dark: frozenset[Area]

    @property
    def to_fix(self) -> int:
        """How many findings stand in the way of a service."""
        return sum(each.kind.severity is Severity.FIX for each in self.findings)

    def state(self, area: Area) -> str:
        """`fine`, or the worst severity of an area."""
        found = {each.kind.severity for each in self.findings if each.kind.area is area}
        if area in self.dark:
            found.add(Severity.UNKNOWN)
        return next((each.value for each in Severity if each in found), "fine")


def examine(picture: Picture) -> Examined:
    """Every finding, by area and then as the checks found it."""
    found = [finding for check in _CHECKS for finding in check.check(picture)]
    order = list(Area)
    dark = {area for look in picture.looks() if look.unread or look.cut for area in look.question.serves}
    if not operators(picture.operators):
        dark |= {Area.PERMISSIONS, Area.METRICS}
    return Examined(findings=tuple(sorted(found, key=lambda each: order.index(each.kind.area))), dark=frozenset(dark))
