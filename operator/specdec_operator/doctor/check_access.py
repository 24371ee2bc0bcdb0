"""What the operator may do, against what it needs."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from specdec_operator.doctor.finding import Area, Finding, Kind, Severity
from specdec_operator.doctor.needs import NEEDS, Need, Reach
from specdec_operator.doctor.operators import Operator, operators
from specdec_operator.doctor.picture import Grant, Picture
from specdec_operator.doctor.services import services

NOT_ALLOWED: Final = Kind(
    id="NotAllowed",
    area=Area.PERMISSIONS,
    severity=Severity.FIX,
    when="the operator's service account lacks a permission that it needs",
    why="what it is for does not happen",
)
NOT_SAID: Final = Kind(
    id="PermissionsUnknown",
    area=Area.PERMISSIONS,
    severity=Severity.UNKNOWN,
    when="you may not ask what the operator's service account may do",
    why="a permission that the operator lacks is not seen",
)
KINDS: Final = (NOT_ALLOWED, NOT_SAID)
_MOST_PLACES: Final = 5


def questions(
    operator: Operator, *, downloads: bool, namespaces: tuple[str, ...] = ()
) -> Iterator[tuple[Need, str, str]]:
    """Each need with a verb, and a namespace in which it has to hold; empty: in all.

    downloads: whether a service has its models brought into a claim. namespaces: those of services.
    """
    for need in NEEDS:
        if (need.downloads and not downloads) or (need.leading and operator.lease is None):
            continue
        named = replace(need, name=operator.lease[1]) if need.reach is Reach.LEASE and operator.lease else need
        for place in _places(need, operator, namespaces):
            for verb in need.verbs:
                yield named, verb, place


def _places(need: Need, operator: Operator, namespaces: tuple[str, ...]) -> tuple[str, ...]:
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


def downloading(picture: Picture) -> bool:
    """Whether any service has its models brought into a claim."""
    return any(each.downloads for each in services(picture))


def check(picture: Picture) -> Iterator[Finding]:
    """Lacking permissions, one finding for each resource and namespace."""
    found = operators(picture.operators)
    if not found:
        return
    account = f"system:serviceaccount:{found[0].namespace}:{found[0].account}"
    refused: dict[tuple[Need, str], list[str]] = {}
    for grant in picture.grants:
        if grant.allowed is False:
            refused.setdefault((grant.need, grant.namespace), []).append(grant.verb)
    for (need, namespace), verbs in refused.items():
        yield _lacking(need, namespace, verbs, account)
    if picture.reviews is not None and picture.reviews.unread:
        yield _unsaid(picture.grants, account)


def _lacking(need: Need, namespace: str, verbs: list[str], account: str) -> Finding:
    where = f"in namespace {namespace}" if namespace else "in the whole cluster"
    full = f"{need.resource}.{need.group}" if need.group else need.resource
    what = f"{account} may not {', '.join(verbs)} {full} {where}, so {need.lost}"
    main, _, part = full.partition("/")
    asked = main if not part else f"{need.resource.partition('/')[0]}.{need.group}".rstrip(".")
    flag = f" --subresource={need.resource.partition('/')[2]}" if part else ""
    place = f"-n {namespace}" if namespace else "-A"
    fix = (
        "apply the operator's ClusterRoles and bindings again (manifests/operator/rbac.yaml, or the Helm chart); "
        f"kubectl auth can-i {verbs[0]} {asked}{flag} {place} --as={account} tells when it is done"
    )
    return NOT_ALLOWED.found(account, what, fix)


def _unsaid(grants: tuple[Grant, ...], account: str) -> Finding:
    open_ones = sum(each.allowed is None for each in grants)
    what = f"{open_ones} of {len(grants)} permissions of {account} could not be asked for"
    fix = "ask whoever administers the cluster for verbs [create] on subjectaccessreviews.authorization.k8s.io"
    return NOT_SAID.found(account, what, fix)
