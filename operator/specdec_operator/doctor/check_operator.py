"""The operator: there, one of it, ready, of this command's release, and leading where there is an election."""

from collections.abc import Iterator
from datetime import timedelta
from itertools import combinations
from typing import Final

from specdec_operator.cli.found import Found
from specdec_operator.doctor.finding import Area, Finding, Kind, Severity
from specdec_operator.doctor.operators import HOME, Operator, operators
from specdec_operator.doctor.picture import Look, Picture
from specdec_operator.staging.detected import version_of

_GRACE: Final = 15.0
"""Seconds for which a lease is kept where it does not say so itself."""

MISSING: Final = Kind(
    id="OperatorMissing",
    area=Area.OPERATOR,
    severity=Severity.FIX,
    when="no Deployment of the operator runs",
    why="nobody acts on services",
)
NOT_READY: Final = Kind(
    id="OperatorNotReady",
    area=Area.OPERATOR,
    severity=Severity.FIX,
    when="the operator's Deployment has no available pod",
    why="nobody acts on services",
)
TWO: Final = Kind(
    id="TwoOperators",
    area=Area.OPERATOR,
    severity=Severity.FIX,
    when="two operators watch the same namespaces, or one has several pods and no election",
    why="both judge the same windows and write the same objects",
)
OTHER_RELEASE: Final = Kind(
    id="OperatorOtherRelease",
    area=Area.OPERATOR,
    severity=Severity.LOOK,
    when="its image's tag is another release than this command",
    why="their rules differ: what this command says of a service may not be what the operator does",
)
NOT_WATCHING: Final = Kind(
    id="NamespaceNotWatched",
    area=Area.OPERATOR,
    severity=Severity.FIX,
    when="a service lies in a namespace that SPECDEC_NAMESPACES of every operator leaves out",
    why="nobody acts on it",
)
NO_LEADER: Final = Kind(
    id="NoLeader",
    area=Area.OPERATOR,
    severity=Severity.FIX,
    when="the Lease of the election is not there, has no holder, or was not renewed in time",
    why="no pod of the operator leads, so nobody acts on services",
)
KINDS: Final = (MISSING, NOT_READY, TWO, OTHER_RELEASE, NOT_WATCHING, NO_LEADER)


def check(picture: Picture) -> Iterator[Finding]:
    """Everything about the operator's Deployments and its Lease."""
    found = operators(picture.operators)
    if not found:
        if picture.operators.complete:
            fix = "kubectl apply -k manifests/default, or install the Helm chart"
            yield MISSING.found("", f"no operator runs{_place(picture.operators)}", fix)
        return
    for each in found:
        yield from _one(each, picture.command)
    yield from _several(found)
    yield from _unwatched(picture, found)
    if picture.lease is not None:
        yield from _leader(picture, picture.lease, found[0])


def _place(look: Look) -> str:
    return f" in namespace {look.question.place}" if look.question.place else ""


def _one(operator: Operator, command: str) -> Iterator[Finding]:
    if not operator.available:
        fix = f"kubectl -n {operator.namespace} describe pods -l app.kubernetes.io/name=specdec-operator"
        yield NOT_READY.found(operator.about, f"no pod of {operator.about} is available, of {operator.replicas}", fix)
    theirs, ours = version_of(operator.tag), version_of(command)
    if theirs is not None and theirs != ours:
        what = f"the operator's image is {operator.image}, this command is {command}"
        yield OTHER_RELEASE.found(
            operator.about, what, f"pip install 'specdec-operator[cli]=={operator.tag.lstrip('v')}'"
        )
    if operator.replicas > 1 and operator.lease is None:
        scale = f"kubectl -n {operator.namespace} scale deployment {operator.name} --replicas=1"
        yield TWO.found(
            operator.about,
            f"{operator.about} has {operator.replicas} pods and elects no leader",
            f"{scale}, or set SPECDEC_LEADER_LEASE",
        )


def _several(found: tuple[Operator, ...]) -> Iterator[Finding]:
    for one, other in combinations(found, 2):
        shared = set(one.namespaces) & set(other.namespaces)
        if (not one.namespaces or not other.namespaces or shared) and (one.lease is None or one.lease != other.lease):
            where = f"namespace {min(shared)}" if shared else "the same namespaces"
            fix = f"kubectl -n {other.namespace} delete deployment {other.name}, or divide SPECDEC_NAMESPACES"
            yield TWO.found(other.about, f"{other.about} and {one.about} watch {where}", fix)


def _unwatched(picture: Picture, found: tuple[Operator, ...]) -> Iterator[Finding]:
    if not all(each.namespaces for each in found) or not picture.operators.complete or picture.operators.question.place:
        return
    watched = {name for each in found for name in each.namespaces}
    for space in picture.spaces:
        if space.name not in watched:
            fix = f"add {space.name} to SPECDEC_NAMESPACES of {found[0].about}"
            yield NOT_WATCHING.found(space.name, f"no operator watches namespace {space.name}", fix)


def _leader(picture: Picture, look: Look, operator: Operator) -> Iterator[Finding]:
    about = "/".join(operator.lease or (HOME, ""))
    trouble = f"the Lease {about} is not there" if look.missing else _stale(picture, look.body)
    if trouble:
        fix = f"kubectl -n {operator.namespace} logs deployment/{operator.name} says why"
        yield NO_LEADER.found(about, trouble, fix)


def _stale(picture: Picture, lease: Found) -> str:
    if not lease.there:
        return ""
    spec = lease.of("spec")
    renewed, lasts = spec.of("renewTime").time, spec.of("leaseDurationSeconds").number or _GRACE
    if not spec.of("holderIdentity").text or renewed is None:
        return "nobody holds the Lease"
    late = picture.now - renewed
    if late <= timedelta(seconds=lasts):
        return ""
    return f"the holder renewed the Lease {late.total_seconds():.0f} s ago, and it lasts {lasts:.0f} s"
