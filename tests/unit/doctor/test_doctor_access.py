"""What the operator needs, against what manifests/ grant it; and what ClusterRoles grant a service account."""

import pathlib
from typing import Any

import pytest
import yaml
from tests.unit.doctor.snapshots import DENIED, Raw, deployment, look

from specdec_command.doctor import snapshot as queries
from specdec_command.doctor.check_access import Roles, permissions
from specdec_command.doctor.objects import operators
from specdec_command.doctor.permissions import NEEDS, NeededPermission, Reach
from specdec_command.doctor.snapshot import QueryAnswer
from specdec_operator.display.untrusted import Untrusted

_MANIFESTS = pathlib.Path(__file__).parents[3] / "manifests"
_RBAC = [_MANIFESTS / name / "rbac.yaml" for name in ("operator", "downloads", "control", "dial")]
_POD_READER = {"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}


def _granted() -> set[tuple[str, str, str, str]]:
    """Group, resource, verb and name of everything that the manifests allow."""
    documents = [each for file in _RBAC for each in yaml.safe_load_all(file.read_text())]
    objects = [each for each in documents if each and each["kind"].endswith("Role")]
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
    return operators(look(queries.operators_query(""), {"items": [found]}))[0]


def _service(name: str, *, control: str = "", staging: str = "") -> Untrusted:
    spec = {"guard": {"control": {"mode": control}}, "staging": {"mode": staging}}
    return Untrusted({"metadata": {"name": name, "namespace": "team"}, "spec": spec})


def test_needs_are_asked_for_where_they_are_needed() -> None:
    """For services in each namespace that is watched, or everywhere; for KServe's objects and the Lease, in theirs."""
    run = _run(SPECDEC_NAMESPACES="a,b", SPECDEC_KSERVE_NAMESPACE="serving", SPECDEC_LEADER_LEASE="home/leader")
    asked = list(permissions(run, [_service("llama", control="Always"), _service("other", control="Never")]))
    places = {reach: {each.namespace for each in asked if each.need.reach is reach} for reach in Reach}
    assert places == {
        Reach.SERVICES: {"a", "b"},
        Reach.BASELINE: {"team"},
        Reach.CLUSTER: {""},
        Reach.KSERVE: {"serving"},
        Reach.OWN: {"home"},
        Reach.LEASE: {"home"},
    }
    assert {each.need.name for each in asked if each.need.reach is Reach.LEASE} == {"leader"}
    assert {each.need.name for each in asked if each.need.reach is Reach.BASELINE} == {"llama-predictor-plain"}
    assert "namespaces" not in {each.need.resource for each in asked}
    assert "persistentvolumeclaims" not in {each.need.resource for each in asked}


def test_the_permission_for_the_dial_is_needed_where_a_dial_is_set() -> None:
    """A cluster that does not grant it is not warned."""
    plain, dialled = _service("llama"), _service("other")
    dialled = Untrusted({**dialled.value, "metadata": {"annotations": {"specdec.io/dial": "off"}}})
    found = [[(each.need.resource, each.verb) for each in permissions(_run(), [one])] for one in (plain, dialled)]
    assert [("pods", "patch") in each for each in found] == [False, True]


def test_without_namespaces_and_election_everything_is_asked_for_everywhere() -> None:
    """And what only downloads need, where a service downloads."""
    asked = list(permissions(_run(SPECDEC_LOG_LEVEL="INFO"), [_service("llama", staging="PersistentVolumeClaim")]))
    assert {each.namespace for each in asked if each.need.reach is Reach.SERVICES} == {""}
    assert {"namespaces", "persistentvolumeclaims", "pods/log"} <= {each.need.resource for each in asked}
    assert "deployments" not in {each.need.resource for each in asked if each.verb == "create"}
    assert "leases" not in {each.need.resource for each in asked}


def test_the_lease_of_each_shard_is_asked_for_by_name() -> None:
    """Permissions for Leases are for single objects; with shards there is none of the plain name."""
    run = _run(SPECDEC_LEADER_LEASE="home/leader", SPECDEC_SHARDS="3")
    asked = list(permissions(run, []))
    names = {each.need.name for each in asked if each.need.reach is Reach.LEASE and each.namespace == "home"}
    assert names == {"leader-0", "leader-1", "leader-2"}


@pytest.mark.parametrize(("text", "shards"), [("", 1), ("1", 1), ("12", 12), ("0", 1), ("x", 1), ("9" * 5000, 1)])
def test_a_number_of_shards_that_the_operator_refuses_counts_as_none(text: str, shards: int) -> None:
    """Such an operator does not start, and the finding about its pods shows it."""
    assert _run(SPECDEC_LEADER_LEASE="home/leader", SPECDEC_SHARDS=text).shards == shards


def _roles(rule: Raw, subject: Raw) -> Roles:
    role = {"metadata": {"name": "r"}, "rules": [rule]}
    binding = {"roleRef": {"name": "r"}, "subjects": [subject]}
    return Roles(
        roles=QueryAnswer(query=queries.ROLES_QUERY, body=Untrusted({"items": [role]})),
        bindings=QueryAnswer(query=queries.BINDINGS_QUERY, body=Untrusted({"items": [binding]})),
    )


_ACCOUNT = {"kind": "ServiceAccount", "name": "specdec-operator", "namespace": "specdec-system"}
_PODS = NeededPermission(group="", resource="pods", verbs=("list",), lost="")


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
def test_cluster_roles_grant_their_rules_to_the_bound_subjects(rule: Raw, subject: Raw, allowed: bool) -> None:
    """As the API server's own authorizer reads them."""
    assert _roles(rule, subject).allow(_run(), _PODS, "list") is allowed


def test_what_a_role_of_a_namespace_may_grant_is_not_called_lacking() -> None:
    """Such Roles are not read."""
    roles = _roles(_POD_READER | {"verbs": ["get"]}, _ACCOUNT)
    assert roles.allow(_run(SPECDEC_NAMESPACES="a"), _PODS, "list") is None
    hidden = Roles(roles=look(queries.ROLES_QUERY, DENIED), bindings=roles.bindings)
    assert hidden.allow(_run(), _PODS, "list") is None
