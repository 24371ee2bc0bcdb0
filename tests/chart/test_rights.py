"""What the chart's roles grant, by the values that choose it, and which traffic its NetworkPolicy lets through."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from hack.cluster.errors import ClusterError
from hack.helm import chart

from specdec_command.doctor.check_metrics import Direction, Endpoint, Passage, lets
from specdec_operator.display.untrusted import Untrusted

READS = {"get", "list", "watch"}
RUNS_PODS = {"deployments", "jobs", "pods", "replicasets", "statefulsets", "daemonsets", "cronjobs"}
"""A client that may write one of these can run any pod of the namespace."""
OLDER = "--kube-version=1.29.14"
"""A cluster without ValidatingAdmissionPolicies."""


def rules(values: Mapping[str, Any], kind: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The rules of all roles of a kind, each with its namespace; without those of hooks."""
    for each in chart.objects(values, "--skip-tests"):
        if each["kind"] == kind:
            yield from ((each["metadata"].get("namespace", ""), rule) for rule in each["rules"])


def writes(values: Mapping[str, Any], kind: str) -> set[tuple[str, str, tuple[str, ...]]]:
    """Namespace, resource and names of everything that runs pods and may be written."""
    return {
        (namespace, resource, tuple(rule.get("resourceNames", ())))
        for namespace, rule in rules(values, kind)
        for resource in rule["resources"]
        if resource in RUNS_PODS and not set(rule["verbs"]) <= READS
    }


def test_by_default_nothing_may_be_written_that_runs_pods_and_no_log_be_read() -> None:
    """InferenceServices apart: the operator is there to make them. Of pods, a policy lets it write one annotation."""
    assert writes({}, "ClusterRole") == {("", "pods", ())}
    pods = [verb for _, rule in rules({}, "ClusterRole") if rule["resources"] == ["pods"] for verb in rule["verbs"]]
    assert sorted(pods) == ["list", "patch", "watch"]
    assert writes({"rbac.dial": False}, "ClusterRole") == set()
    assert writes({}, "Role") == set()
    assert [rule for _, rule in rules({}, "ClusterRole") if "pods/log" in rule["resources"]] == []


def of_the_dial(values: Mapping[str, Any], *words: str) -> dict[str, int]:
    """How many objects of each kind are for the dial."""
    found = [each["kind"] for each in chart.objects(values, *words) if each["metadata"]["name"].endswith("-dial")]
    return {kind: found.count(kind) for kind in found}


POLICY = {"ValidatingAdmissionPolicy": 1, "ValidatingAdmissionPolicyBinding": 1}


@pytest.mark.parametrize("version", ["1.30.0", "v1.30.14-gke.1", "1.31.2+k3s1", "1.34.1"])
@pytest.mark.parametrize("value", ["Auto", True])
def test_the_dial_comes_with_its_policy(version: str, value: object) -> None:
    """Whatever a vendor appends to the version of the cluster."""
    made = of_the_dial({"rbac.dial": value}, f"--kube-version={version}")
    assert made == {"ClusterRole": 1, "ClusterRoleBinding": 1} | POLICY


@pytest.mark.parametrize("value", ["Auto", False, None])
def test_an_older_cluster_gets_no_permission_and_no_policy(value: object) -> None:
    """The permission without its policy would allow to replace the images of pods."""
    assert of_the_dial({"rbac.dial": value}, OLDER) == {}


@pytest.mark.parametrize("values", [{"rbac.dial": False}, {"rbac.dial": None}, {"rbac.create": False}])
def test_neither_is_there_where_it_is_not_wanted(values: Mapping[str, Any]) -> None:
    """No value is what `--reuse-values` keeps of a release whose chart had none."""
    assert of_the_dial(values) == {}


def test_the_permission_cannot_be_forced_onto_an_older_cluster() -> None:
    """The message has both ways out."""
    with pytest.raises(
        ClusterError, match=r"Kubernetes v1\.29\.14 has no ValidatingAdmissionPolicy.* remove rbac\.dial"
    ):
        chart.template({"rbac.dial": True}, OLDER)
    assert of_the_dial({"rbac.dial": True, "rbac.create": False}, OLDER) == {}


def test_the_dial_is_granted_in_each_watched_namespace_with_one_policy() -> None:
    """The policy holds the account everywhere, and its binding names no namespace."""
    made = of_the_dial({"namespaces": ["team-a", "team-b"]})
    assert made == {"Role": 2, "RoleBinding": 2} | POLICY


def test_the_policy_holds_the_account_that_has_the_permission() -> None:
    """Also one with another name, that exists already."""
    values = {"serviceAccount.create": False, "serviceAccount.name": "robot"}
    made = chart.by_key(chart.objects(values))
    held = made["ValidatingAdmissionPolicy", "", "specdec-operator-dial"]["spec"]["matchConditions"][0]["expression"]
    (subject,) = made["ClusterRoleBinding", "", "specdec-operator-dial"]["subjects"]
    assert held.endswith(f"'system:serviceaccount:{subject['namespace']}:{subject['name']}'")
    assert subject["name"] == "robot"


def test_with_namespaces_everything_that_is_written_is_in_one_of_them() -> None:
    """Whatever else is granted: the ClusterRole reads."""
    values = {"namespaces": ["team-a", "team-b"], "rbac.control": True, "rbac.downloads": True}
    assert all(set(rule["verbs"]) <= READS for _, rule in rules(values, "ClusterRole"))
    assert {namespace for namespace, *_ in writes(values, "Role")} == {"team-a", "team-b"}
    assert {resource for _, resource, _ in writes(values, "Role")} == {"deployments", "jobs", "pods"}


def test_deployments_are_granted_to_a_service_by_name() -> None:
    """Those of its baseline pods, in its namespace; KServe's, which they are copied from, may only be read."""
    values = {"rbac.controlServices": ["team-a/llama", "team-a/qwen", "team-b/llama"]}
    assert writes(values, "ClusterRole") == {("", "pods", ())}  # the dial
    assert writes(values, "Role") == {
        ("team-a", "deployments", ("llama-predictor-plain", "qwen-predictor-plain")),
        ("team-b", "deployments", ("llama-predictor-plain",)),
    }


def policy(values: Mapping[str, Any]) -> dict[str, Any]:
    """The spec of the NetworkPolicy."""
    (made,) = (each for each in chart.objects(values) if each["kind"] == "NetworkPolicy")
    spec: dict[str, Any] = made["spec"]
    return spec


def ports(rules: list[dict[str, Any]]) -> set[int | str]:
    """Every port of rules that name no other end."""
    return {port["port"] for rule in rules if "to" not in rule for port in rule.get("ports", ())}


def test_a_policy_is_there_by_default_and_limits_both_directions() -> None:
    """Engines in all namespaces, because they may be in each of them, at whatever port a spec names."""
    spec = policy({})
    (operator,) = (each for each in chart.objects({}) if each["kind"] == "Deployment")
    assert spec["podSelector"]["matchLabels"].items() <= operator["spec"]["template"]["metadata"]["labels"].items()
    assert spec["policyTypes"] == ["Ingress", "Egress"]
    assert ports(spec["ingress"]) == {"metrics", "health"}
    assert ports(spec["egress"]) == {53, 5353, 443, 6443}
    assert [each for each in spec["egress"] if "to" in each] == [{"to": [{"namespaceSelector": {}}]}]


def test_engines_are_reached_only_in_the_watched_namespaces() -> None:
    """By the label that the API server gives each namespace."""
    (rule,) = (each for each in policy({"namespaces": ["team-a", "team-b"]})["egress"] if "to" in each)
    (wanted,) = rule["to"][0]["namespaceSelector"]["matchExpressions"]
    assert wanted == {"key": "kubernetes.io/metadata.name", "operator": "In", "values": ["team-a", "team-b"]}


@pytest.mark.parametrize(
    ("namespaces", "port", "passage"),
    [
        ([], 8000, Passage.YES),
        (["team-a"], 8000, Passage.YES),
        (["team-b"], 8000, Passage.NO),
        (["team-b"], 6443, Passage.YES),
    ],
)
def test_what_the_policy_lets_out_is_read_as_a_cluster_would(
    namespaces: list[str], port: int, passage: Passage
) -> None:
    """By the reading of NetworkPolicies of `specdec doctor`: an engine in team-a, and the port of an API server."""
    engine = Endpoint(namespace="team-a", around={"kubernetes.io/metadata.name": "team-a"}, labels={})
    made = (Untrusted({"spec": policy({"namespaces": namespaces})}),)
    assert lets(made, engine, Direction.OUT, port, {}, chart.NAMESPACE) is passage


@pytest.mark.parametrize(
    ("url", "port"),
    [
        ("http://prometheus.monitoring:9091", 9091),
        ("http://prometheus.monitoring", 80),
        ("https://prometheus.example/path", 443),
        ("http://[fd00::1]:9095", 9095),
    ],
)
def test_a_prometheus_server_that_may_be_named_can_be_reached(url: str, port: int) -> None:
    """At the port of its URL, and at that of its pods behind a Service."""
    assert {port, 9090} <= ports(policy({"prometheusUrls": [url]})["egress"])


def test_outgoing_traffic_is_open_if_any_server_may_be_named_and_more_can_be_added() -> None:
    """An operator with `*` asks servers that the administrator does not list."""
    assert {} in policy({"prometheusUrls": ["*"]})["egress"]
    proxy = {"ports": [{"port": 3128}]}
    assert policy({"networkPolicy.egress": [proxy]})["egress"][-1] == proxy


def test_the_policy_can_be_switched_off() -> None:
    assert [each for each in chart.objects({"networkPolicy.enabled": False}) if each["kind"] == "NetworkPolicy"] == []
