"""The operator: there, one of it, ready, of this command's release, and leading where there is an election."""

import re
from collections.abc import Iterator, Mapping
from datetime import timedelta
from itertools import combinations
from typing import Final

from specdec_command.doctor.finding import DoctorFinding, finding
from specdec_command.doctor.objects import Operator, operators
from specdec_command.doctor.snapshot import Snapshot
from specdec_engine.version import major_minor
from specdec_operator.display.untrusted import Untrusted

_GRACE: Final = 15.0
"""Seconds for which a lease is kept if it does not set them."""


def check(snapshot: Snapshot) -> Iterator[DoctorFinding]:
    """Everything about the operator's Deployments and its Lease."""
    running = operators(snapshot.operators)
    if not running:
        if snapshot.operators.complete:
            fix = "kubectl apply -k manifests/default, or install the Helm chart"
            place = snapshot.operators.query.place
            yield finding(
                "OperatorMissing", "", ("no operator runs") + (f" in namespace {place}" if place else ""), fix
            )
        return
    for each in running:
        yield from _one(each, snapshot.command)
    yield from _several(running)
    yield from _unwatched(snapshot, running)
    yield from _election(snapshot, running)


def _one(operator: Operator, command: str) -> Iterator[DoctorFinding]:
    about = operator.about
    if not operator.available:
        yield _not_ready(operator)
    theirs, ours = major_minor(operator.tag), major_minor(command)
    if theirs is not None and theirs != ours:
        what = f"the operator's image is {operator.image}, this command is {command}"
        fix = f"pip install '.[cli]' in a checkout of release {operator.tag.lstrip('v')}"
        yield finding("OperatorOtherRelease", about, what, fix)
    if operator.replicas > 1 and operator.lease is None:
        what = f"{about} has {operator.replicas} pods without leader election"
        yield finding("TwoOperators", about, what, f"{_scale(operator, 1)}, or set SPECDEC_LEADER_LEASE")


def _not_ready(operator: Operator) -> DoctorFinding:
    """The reason, if the Deployment shows it: an image without a registry is the first mistake of an installation."""
    what = f"no pod of {operator.about} is available, of {operator.replicas}"
    fix = f"kubectl -n {operator.namespace} describe pods -l app.kubernetes.io/name=specdec-operator"
    if "/" not in operator.image:
        what = f"{what}; its image {operator.image} names no registry"
        fix = f"set yours: helm upgrade --set registry=..., or an overlay (docs/install.md); then {fix}"
    return finding("OperatorNotReady", operator.about, what, fix)


def _several(running: tuple[Operator, ...]) -> Iterator[DoctorFinding]:
    for one, other in combinations(running, 2):
        shared = set(one.namespaces) & set(other.namespaces)
        if one.namespaces and other.namespaces and not shared:
            continue
        if one.lease is None or one.lease != other.lease:
            where = f"namespace {min(shared)}" if shared else "the same namespaces"
            fix = f"kubectl -n {other.namespace} delete deployment {other.name}, or divide SPECDEC_NAMESPACES"
            yield finding("TwoOperators", other.about, f"{other.about} and {one.about} watch {where}", fix)
        elif one.shards != other.shards:
            what = f"{one.about} has SPECDEC_SHARDS={one.shards}, {other.about} has {other.shards}"
            yield finding("ShardsDiffer", other.about, what, f"{_restart(other)}, with the same number")


def _unwatched(snapshot: Snapshot, running: tuple[Operator, ...]) -> Iterator[DoctorFinding]:
    known = snapshot.operators.complete and not snapshot.operators.query.place
    watched = {name for each in running for name in each.namespaces}
    for space in snapshot.spaces:
        if known and all(each.namespaces for each in running) and space.name not in watched:
            fix = f"add {space.name} to SPECDEC_NAMESPACES of {running[0].about}"
            yield finding("NamespaceNotWatched", space.name, f"no operator watches namespace {space.name}", fix)


def _election(snapshot: Snapshot, running: tuple[Operator, ...]) -> Iterator[DoctorFinding]:
    """Whether the Lease of the election is held, or those of the shards; and none of another number of shards."""
    operator, answer = running[0], snapshot.leases
    if operator.lease is None or answer is None or not answer.complete:
        return
    namespace, name = operator.lease
    there = {each.of("metadata", "name").text: each for each in answer.items}
    free = {each: why for each in operator.leases if (why := _free(f"{namespace}/{each}", there.get(each), snapshot))}
    if free:
        yield _unheld(operator, free)
    known = {each for other in running for each in other.leases}
    alike = [each for each in there if re.fullmatch(rf"{re.escape(name)}(-\d+)?", each) and each not in known]
    if held := [each for each in alike if not _free(each, there[each], snapshot)]:
        what = (
            f"{operator.about} has SPECDEC_SHARDS={operator.shards}, and another replica holds the Lease "
            f"{', '.join(held)}"
        )
        yield finding("ShardsDiffer", operator.about, what, _restart(operator))


def _unheld(operator: Operator, free: Mapping[str, str]) -> DoctorFinding:
    about = "/".join(operator.lease or ())
    logs = f"kubectl -n {operator.namespace} logs deployment/{operator.name} shows the reason"
    if operator.shards == 1:
        return finding("NoLeader", about, free[about.partition("/")[2]], logs)
    replicas = f"{operator.available} of {operator.replicas} replicas are available for {operator.shards} shards"
    if len(free) == operator.shards:
        return finding("NoLeader", about, f"no replica holds a shard ({next(iter(free.values()))}); {replicas}", logs)
    fix = (
        f"{_scale(operator, operator.shards)} adds a replica for each shard"
        if operator.replicas < operator.shards
        else logs
    )
    return finding("ShardsFree", about, f"no replica holds {', '.join(free)}; {replicas}", fix)


def _restart(operator: Operator) -> str:
    return f"{_scale(operator, 0)}, wait until no pod is left, then {_scale(operator, operator.replicas)}"


def _scale(operator: Operator, replicas: int) -> str:
    return f"kubectl -n {operator.namespace} scale deployment {operator.name} --replicas={replicas}"


def _free(name: str, lease: Untrusted | None, snapshot: Snapshot) -> str:
    """Why no process holds a Lease; empty if one does."""
    if lease is None:
        return f"the Lease {name} does not exist"
    spec = lease.of("spec")
    renewed, lasts = spec.of("renewTime").time, spec.of("leaseDurationSeconds").number or _GRACE
    if not spec.of("holderIdentity").text or renewed is None:
        return "the Lease has no holder"
    late = snapshot.now - renewed
    if late <= timedelta(seconds=lasts):
        return ""
    return f"the holder renewed the Lease {late.total_seconds():.0f} s ago, and a renewal is valid for {lasts:.0f} s"
