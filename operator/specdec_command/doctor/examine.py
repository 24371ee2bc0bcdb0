"""All checks over a snapshot; and what the user may not read, or what did not answer, which is never passed over."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from specdec_command.doctor import (
    check_access,
    check_crd,
    check_devices,
    check_kserve,
    check_metrics,
    check_namespaces,
    check_operator,
    check_services,
)
from specdec_command.doctor.finding import Area, DoctorFinding, DoctorSeverity, finding
from specdec_command.doctor.objects import operators
from specdec_command.doctor.snapshot import QueryAnswer, Snapshot
from specdec_operator.display.describe import listed

_CHECKS: Final = (
    *(check_kserve, check_crd, check_operator, check_access),
    *(check_devices, check_metrics, check_namespaces, check_services),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Examined:
    """What was found. dark: areas for which something could not be read, so that no finding means little."""

    findings: tuple[DoctorFinding, ...]
    dark: frozenset[Area]

    @property
    def to_fix(self) -> int:
        """How many findings stand in the way of a service."""
        return sum(each.kind.severity is DoctorSeverity.FIX for each in self.findings)

    def state(self, area: Area) -> str:
        """`fine`, or the worst severity of an area."""
        severities = {each.kind.severity for each in self.findings if each.area is area}
        if area in self.dark:
            severities.add(DoctorSeverity.UNKNOWN)
        return next((each.value for each in DoctorSeverity if each in severities), "fine")


def examine(snapshot: Snapshot) -> Examined:
    """Every finding, by area and then as the checks found it."""
    findings = [found for check in _CHECKS for found in check.check(snapshot)] + [*_unread(snapshot)]
    dark = {area for answer in snapshot.answers() if answer.unread or answer.cut for area in answer.query.serves}
    if not operators(snapshot.operators):
        dark |= {Area.PERMISSIONS, Area.METRICS}
    findings.sort(key=lambda each: [*Area].index(each.area))
    return Examined(findings=tuple(findings), dark=frozenset(dark))


def _unread(snapshot: Snapshot) -> Iterator[DoctorFinding]:
    """One finding for each verb and resource that could not be read, with the places."""
    alike: dict[tuple[str, str, bool, bool], list[QueryAnswer]] = {}
    for answer in snapshot.answers():
        if (answer.unread or answer.cut) and answer is not snapshot.reviews:
            key = answer.query.verb, answer.query.resource, answer.forbidden, bool(answer.unread)
            alike.setdefault(key, []).append(answer)
    for answers in alike.values():
        yield _finding(answers)
    if snapshot.more_spaces:
        what = f"{snapshot.more_spaces} namespaces with services were not checked"
        yield finding("NotAllRead", "", what, "specdec doctor -n NAMESPACE checks one", area=Area.NAMESPACES)


def _finding(answers: list[QueryAnswer]) -> DoctorFinding:
    first, query = answers[0], answers[0].query
    places = sorted({each.query.place for each in answers if each.query.place})
    things = query.resource + (f" in {listed(places, 3)}" if places else "")
    if not first.unread:
        kind, what = "NotAllRead", f"only the first {len(first.items)} {things} were checked"
        fix = "specdec doctor -n NAMESPACE checks fewer"
    elif first.forbidden:
        kind, what = "NotReadable", f"you have no permission to {query.verb} {things}"
        fix = f"ask a cluster administrator for verbs [{query.verb}] on {things}"
    else:
        kind, what = "NotAnswered", f"{things} could not be read ({first.unread})"
        fix = "run specdec doctor again, or check the API server"
    return finding(kind, query.resource, what, fix, area=query.serves[0])
