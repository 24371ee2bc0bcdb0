"""What the operator needs, against what manifests/ grant it; and what ClusterRoles grant a service account."""

import pathlib
from typing import Any

import pytest
import yaml

from specdec_operator.cli.found import Found
from specdec_operator.doctor import questions
from specdec_operator.doctor.check_access import questions as permissions
from specdec_operator.doctor.granted import Roles
from specdec_operator.doctor.needs import NEEDS, Need, Reach
from specdec_operator.doctor.operators import operators
from specdec_operator.doctor.picture import Look
from tests.unit.doctor_pictures import DENIED, Raw, deployment, look

_RBAC = pathlib.Path(__file__).parents[2] / "manifests" / "operator" / "rbac.yaml"
_POD_READER = {"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}


def _granted() -> set[tuple[str, str, str, str]]:
    """Group, resource, verb and name of everything that the manifests allow."""
    objects = [each for each in yaml.safe_load_all(_RBAC.read_text()) if each and each["kind"].endswith("Role")]
    return {
        (group, resource, verb, name)
        for each in objects
        for rule in each["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
        for name in rule.get("resourceNames", [""])
    }


def test_the_needs_are_what_the_manifests_grant_and_nothing_more() -> None:
    """A permission that is added to one of them is added to both. The election's are the chart's alone."""
    needed = {(need.group, need.resource, verb, need.name) for need in NEEDS if not need.leading for verb in need.verbs}
    assert needed == {each for each in _granted() if each[0] != "coordination.k8s.io"}


def _run(**settings: str) -> Any:
    found = deployment()
    container = found["spec"]["template"]["spec"]["containers"][0]
    container["env"] = [{"name": name, "value": value} for name, value in settings.items()]
    return operators(look(questions.operators(""), {"items": [found]}))[0]


def test_needs_are_asked_for_where_they_are_needed() -> None:
    """For services in each namespace that is watched, or everywhere; for KServe's objects and the Lease, in theirs."""
    run = _run(SPECDEC_NAMESPACES="a,b", SPECDEC_KSERVE_NAMESPACE="serving", SPECDEC_LEADER_LEASE="home/leader")
    asked = list(permissions(run, downloads=False))
    places = {reach: {place for need, _, place in asked if need.reach is reach} for reach in Reach}
    assert places == {
        Reach.SERVICES: {"a", "b"},
        Reach.CLUSTER: {""},
        Reach.KSERVE: {"serving"},
        Reach.OWN: {"home"},
        Reach.LEASE: {"home"},
    }
    assert {need.name for need, _, _ in asked if need.reach is Reach.LEASE} == {"leader"}
    assert "namespaces" not in {need.resource for need, _, _ in asked}
    assert "persistentvolumeclaims" not in {need.resource for need, _, _ in asked}


def test_without_namespaces_and_election_everything_is_asked_for_everywhere() -> None:
    """And what only downloads need, where a service downloads."""
    asked = list(permissions(_run(SPECDEC_LOG_LEVEL="INFO"), downloads=True))
    assert {place for need, _, place in asked if need.reach is Reach.SERVICES} == {""}
    assert {"namespaces", "persistentvolumeclaims"} <= {need.resource for need, _, _ in asked}
    assert "leases" not in {need.resource for need, _, _ in asked}


def _roles(rule: Raw, subject: Raw) -> Roles:
    role = {"metadata": {"name": "r"}, "rules": [rule]}
    binding = {"roleRef": {"name": "r"}, "subjects": [subject]}
    return Roles(
        roles=Look(question=questions.ROLES, body=Found({"items": [role]})),
        bindings=Look(question=questions.BINDINGS, body=Found({"items": [binding]})),
    )


_ACCOUNT = {"kind": "ServiceAccount", "name": "specdec-operator", "namespace": "specdec-system"}
_PODS = Need(group="", resource="pods", verbs=("list",), lost="")


@pytest.mark.parametrize(
    ("rule", "subject", "allowed"),
    [
        (_POD_READER, _ACCOUNT, True),
        ({"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}, _ACCOUNT, True),
        (_POD_READER, {"kind": "Group", "name": "system:serviceaccounts:specdec-system"}, True),
        (_POD_READER, {"kind": "User", "name": "system:serviceaccount:specdec-system:specdec-operator"}, True),
        (_POD_READER, {"kind": "Group", "name": "system:masters"}, False),
        (_POD_READER, _ACCOUNT | {"namespace": "other"}, False),
        (_POD_READER | {"verbs": ["get"]}, _ACCOUNT, False),
        (_POD_READER | {"apiGroups": ["apps"]}, _ACCOUNT, False),
        (_POD_READER | {"resources": ["pods/log"]}, _ACCOUNT, False),
        (_POD_READER | {"resourceNames": ["one"]}, _ACCOUNT, False),
    ],
)
def test_cluster_roles_grant_what_their_rules_say_to_those_who_are_bound(
    rule: Raw, subject: Raw, allowed: bool
) -> None:
    """As the API server's own authorizer reads them."""
    assert _roles(rule, subject).grant(_run(), _PODS, "list") is allowed


def test_what_a_role_of_a_namespace_may_grant_is_not_called_lacking() -> None:
    """Such Roles are not read."""
    roles = _roles(_POD_READER | {"verbs": ["get"]}, _ACCOUNT)
    assert roles.grant(_run(SPECDEC_NAMESPACES="a"), _PODS, "list") is None
    hidden = Roles(roles=look(questions.ROLES, DENIED), bindings=roles.bindings)
    assert hidden.grant(_run(), _PODS, "list") is None
