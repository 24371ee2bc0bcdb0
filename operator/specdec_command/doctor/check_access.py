"""What the operator may do, against what it needs: by the API server's answer, or else by the ClusterRoles."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import Final

from specdec_command.doctor.finding import DoctorFinding, finding
from specdec_command.doctor.objects import Operator, first_operator
from specdec_command.doctor.permissions import NEEDS, Grant, NeededPermission, Reach
from specdec_command.doctor.snapshot import QueryAnswer, Snapshot
from specdec_operator.api.control import ControlMode
from specdec_operator.display.untrusted import Untrusted
from specdec_operator.names import DIAL_ANNOTATION
from specdec_operator.observe.store import baseline_name

_MOST_PLACES: Final = 5


def permissions(operator: Operator, services: Iterable[Untrusted], namespaces: tuple[str, ...] = ()) -> Iterator[Grant]:
    """What has to be granted, and is not asked for yet. services: as they are. namespaces: those of services."""
    every = tuple(services)
    downloads = any(each.of("spec", "staging", "mode").text == "PersistentVolumeClaim" for each in every)
    dialled = any(each.of("metadata", "annotations", DIAL_ANNOTATION).text for each in every)
    for need in NEEDS:
        if (need.downloads and not downloads) or (need.dial and not dialled) or (need.leading and not operator.leases):
            continue
        for name, place in _targets(need, operator, every, namespaces):
            yield from (Grant(replace(need, name=name), verb, place) for verb in need.verbs)


def _targets(
    need: NeededPermission, operator: Operator, services: tuple[Untrusted, ...], namespaces: tuple[str, ...]
) -> Iterable[tuple[str, str]]:
    """The names and namespaces that a permission is needed for."""
    if need.reach is Reach.BASELINE:
        return tuple(_baselines(services))[:_MOST_PLACES]
    names = operator.leases if need.reach is Reach.LEASE else (need.name,)
    return product(names, _places(need, operator, namespaces))


def _baselines(services: tuple[Untrusted, ...]) -> Iterator[tuple[str, str]]:
    """The Deployments of the baseline pods that services request by name: `OnDoubt` is the default of all others."""
    for each in services:
        if each.of("spec", "guard", "control", "mode").text in (ControlMode.ALWAYS, ControlMode.ON_DOUBT):
            yield baseline_name(each.of("metadata", "name").text), each.of("metadata", "namespace").text


def _places(need: NeededPermission, operator: Operator, namespaces: tuple[str, ...]) -> tuple[str, ...]:
    match need.reach:
        case Reach.KSERVE:
            return (operator.kserve_namespace,)
        case Reach.OWN | Reach.LEASE:
            return (operator.lease[0] if operator.lease else operator.namespace,)
        case Reach.CLUSTER:
            needless = need.resource == "namespaces" and operator.namespaces
            return () if needless else ("",)
        case Reach.SERVICES:
            both = tuple(each for each in operator.namespaces if each in namespaces)
            return (both or operator.namespaces)[:_MOST_PLACES] or ("",)
        case Reach.BASELINE:  # a Role of their namespace may grant it by name
            return ()


def check(snapshot: Snapshot) -> Iterator[DoctorFinding]:
    """Lacking permissions, one finding for each resource and namespace."""
    operator = first_operator(snapshot.operators)
    if operator is None:
        return
    refused: dict[tuple[NeededPermission, str], list[Grant]] = {}
    for grant in snapshot.grants:
        if grant.allowed is False:
            refused.setdefault((replace(grant.need, name=""), grant.namespace), []).append(grant)
    for grants in refused.values():
        yield _lacking(grants, operator.user)
    if snapshot.reviews is not None and snapshot.reviews.unread:
        yield _unknown(snapshot.grants, operator.user)


def _lacking(refused: list[Grant], account: str) -> DoctorFinding:
    """What is refused about one resource in one namespace; by name where the permission is for single objects."""
    need, namespace = refused[0].need, refused[0].namespace
    verbs = ", ".join(dict.fromkeys(each.verb for each in refused))
    names = ", ".join(dict.fromkeys(each.need.name for each in refused))
    where = f"in namespace {namespace}" if namespace else "in the whole cluster"
    resource, _, part = need.resource.partition("/")
    full = f"{need.resource}.{need.group}".rstrip(".")
    what = f"{account} may not {verbs} {f'{full} {names}'.rstrip()} {where}, so {need.lost}"
    target = f"{resource}.{need.group}".rstrip(".") + (f"/{need.name}" if need.name else "")
    target += f" --subresource={part}" if part else ""
    place = f"-n {namespace}" if namespace else "-A"
    fix = (
        f"apply {need.granted_by} again; kubectl auth can-i {refused[0].verb} {target} {place} --as={account} checks it"
    )
    return finding("NotAllowed", account, what, fix)


def _unknown(grants: tuple[Grant, ...], account: str) -> DoctorFinding:
    open_ones = sum(each.allowed is None for each in grants)
    what = f"{open_ones} of {len(grants)} permissions of {account} could not be checked"
    fix = "ask a cluster administrator for verbs [create] on subjectaccessreviews.authorization.k8s.io"
    return finding("PermissionsUnknown", account, what, fix)


@dataclass(frozen=True, slots=True, kw_only=True)
class Roles:
    """ClusterRoles and ClusterRoleBindings of a cluster. Roles of single namespaces are not among them."""

    roles: QueryAnswer
    bindings: QueryAnswer

    def allow(self, operator: Operator, need: NeededPermission, verb: str) -> bool | None:
        """Whether a ClusterRole does. None where a Role of a namespace may, or not everything could be read."""
        if not self.roles.complete or not self.bindings.complete:
            return None
        if any(_allows(rule, need, verb) for rule in self._rules(operator)):
            return True
        whole = need.reach is Reach.CLUSTER or (need.reach is Reach.SERVICES and not operator.namespaces)
        return False if whole else None

    def _rules(self, operator: Operator) -> Iterator[Untrusted]:
        bound = {
            binding.of("roleRef", "name").text
            for binding in self.bindings.items
            if any(_is(subject, operator) for subject in binding.of("subjects").items)
        }
        for role in self.roles.items:
            if role.of("metadata", "name").text in bound:
                yield from role.of("rules").items


def groups_of(namespace: str) -> tuple[str, ...]:
    """The groups of every service account of a namespace."""
    return "system:serviceaccounts", f"system:serviceaccounts:{namespace}", "system:authenticated"


def _is(subject: Untrusted, operator: Operator) -> bool:
    kind, name = subject.of("kind").text, subject.of("name").text
    if kind == "Group":
        return name in groups_of(operator.namespace)
    if kind == "User":
        return name == operator.user
    return kind == "ServiceAccount" and (subject.of("namespace").text, name) == (operator.namespace, operator.account)


def _allows(rule: Untrusted, need: NeededPermission, verb: str) -> bool:
    names = rule.of("resourceNames").texts
    groups = [each.text for each in rule.of("apiGroups").items]
    resources, verbs = rule.of("resources").texts, rule.of("verbs").texts
    return (
        ("*" in groups or need.group in groups)
        and ("*" in resources or need.resource in resources)
        and ("*" in verbs or verb in verbs)
        and (not names or need.name in names)
    )
