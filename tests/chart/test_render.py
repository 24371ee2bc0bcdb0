"""What the chart renders: golden files, the CRD's one source, and values that are refused with an error message."""

import os
import pathlib
import re
from collections.abc import Mapping
from typing import Any

import pytest
import yaml
from hack.cluster.errors import ClusterError
from hack.helm import chart, manifests

from tests.chart_values import CASES

PODS = ("Deployment", "Pod", "ClusterServingRuntime")
GOLDEN = pathlib.Path(__file__).parents[1] / "golden" / "chart"


def shown(case: str) -> str:
    """What a golden file holds: all but the CRD, which has its own source, and the texts of rules and dashboards."""
    kept = []
    for body in chart.objects(CASES[case]):
        if body["kind"] == "CustomResourceDefinition":
            continue
        if body["kind"] == "PrometheusRule":
            body["spec"] = {"groups": [group["name"] for group in body["spec"]["groups"]]}
        if body["kind"] == "ConfigMap":
            body["data"] = sorted(body["data"])
        kept.append(body)
    return yaml.safe_dump_all(kept, sort_keys=False, width=110)


@pytest.mark.parametrize("case", CASES)
def test_the_chart_renders_what_was_reviewed(case: str) -> None:
    """SPECDEC_GOLDEN=write rewrites the file; `git diff` is the review."""
    path = GOLDEN / f"{case}.yaml"
    if os.environ.get("SPECDEC_GOLDEN") == "write":
        path.parent.mkdir(exist_ok=True)
        path.write_text(shown(case))
    assert shown(case) == path.read_text()


@pytest.mark.parametrize("case", CASES)
def test_the_chart_passes_the_strict_lint(case: str) -> None:
    """A warning is an error."""
    answer = chart.lint(CASES[case])
    assert answer.code == 0, answer.out + answer.err


def test_the_crd_is_that_of_the_project_and_is_kept() -> None:
    """Upgrades bring the newer one, because it is a template; an uninstallation leaves it, because it is kept."""
    (made,) = (each for each in chart.objects({}) if each["kind"] == "CustomResourceDefinition")
    source = yaml.safe_load(manifests.CRD.read_text())
    assert (made["metadata"]["name"], made["spec"]) == (source["metadata"]["name"], source["spec"])
    assert made["metadata"]["annotations"] == {"helm.sh/resource-policy": "keep"}


@pytest.mark.parametrize(
    ("values", "annotations"), [({"crds.keep": False}, [None]), ({"crds.install": False}, [])], ids=["go", "absent"]
)
def test_the_crd_goes_or_is_absent_where_that_is_asked(values: Mapping[str, Any], annotations: list[None]) -> None:
    """Two switches, each for itself."""
    crds = [each for each in chart.objects(values) if each["kind"] == "CustomResourceDefinition"]
    assert [each["metadata"].get("annotations") for each in crds] == annotations


@pytest.mark.parametrize(
    ("address", "link"),
    [
        ("", "docs/runbooks/SpecdecStalled.md"),
        ("https://wiki.example/specdec/", "https://wiki.example/specdec/SpecdecStalled.html"),
    ],
)
def test_alerts_link_to_the_published_runbooks(address: str, link: str) -> None:
    """Without an address each names the page of this repository."""
    every = chart.objects({"monitoring.rules.enabled": True, "monitoring.rules.runbooks": address})
    (made,) = (each for each in every if each["kind"] == "PrometheusRule")
    rules = [rule for group in made["spec"]["groups"] for rule in group["rules"] if "alert" in rule]
    links = {rule["alert"]: rule["annotations"]["runbook_url"] for rule in rules}
    assert links["SpecdecStalled"] == link
    assert all(name in each for name, each in links.items())


def runtimes(values: Mapping[str, Any]) -> dict[str, str]:
    """The runtimes in the operator's environment. Checks that the rendered runtimes have these names."""
    every = chart.objects(values)
    (operator,) = (each for each in every if each["kind"] == "Deployment")
    env = operator["spec"]["template"]["spec"]["containers"][0]["env"]
    (told,) = (each["value"] for each in env if each["name"] == "SPECDEC_RUNTIMES")
    named = dict(each.split("=") for each in told.split(","))
    made = {each["metadata"]["name"] for each in every if each["kind"] == "ClusterServingRuntime"}
    assert made == {named[each] for each in named if values.get(f"runtimes.{each}.enabled", True)}
    return named


def test_a_runtime_with_other_content_has_another_name_and_no_other_one_has() -> None:
    """Services keep their pods where their runtime is the same, and move in turn where it is not."""
    before = runtimes({})
    others = {"replicas": 0, "runtimes.keep": False, "runtimes.ascend.enabled": False, "logLevel": "DEBUG"}
    assert runtimes(others) == before
    for values in ({"runtimes.cpu.image": "registry.example/own:1"}, {"runtimes.cpu.kvCacheGiB": 4}):
        after = runtimes(values)
        assert after["cpu"] != before["cpu"]
        assert {**after, "cpu": before["cpu"]} == before
    assert runtimes({"runtimes.nvidia.name": "specdec-nvidia"})["nvidia"] == "specdec-nvidia"


def test_the_operator_knows_the_images_that_replace_its_runtimes() -> None:
    """It reads the engine's version from them."""
    values = {"runtimes.nvidia.image": "registry.example/vllm:v0.31.0", "runtimes.cpu.image": "own.example/cpu:1"}
    for given, told in ((values, ["cpu=own.example/cpu:1,nvidia=registry.example/vllm:v0.31.0"]), ({}, [])):
        (operator,) = (each for each in chart.objects(given) if each["kind"] == "Deployment")
        env = operator["spec"]["template"]["spec"]["containers"][0]["env"]
        assert [each["value"] for each in env if each["name"] == "SPECDEC_RUNTIME_IMAGES"] == told


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"replica": 2}, "additional properties 'replica' not allowed"),
        ({"replicas": "two"}, "at '/replicas': got string, want integer"),
        ({"replicas": -1}, "at '/replicas': minimum: got -1, want 0"),
        ({"shards": 0}, "at '/shards': minimum: got 0, want 1"),
        ({"shards": 65}, "at '/shards': maximum: got 65, want 64"),
        ({"namespaces": "team-a"}, "at '/namespaces': got string, want array"),
        ({"namespaces": ["Team A"]}, "at '/namespaces/0'"),
        ({"image.tags": "1"}, "additional properties 'tags' not allowed"),
        ({"image.digest": "sha256:1"}, "at '/image/digest'"),
        ({"image.pullPolicy": "always"}, "at '/image/pullPolicy'"),
        ({"logLevel": "debug"}, "at '/logLevel'"),
        ({"monitoring.serviceMonitor.interval": "30"}, "at '/monitoring/serviceMonitor/interval'"),
        ({"monitoring.rules.runbooks": "wiki/specdec"}, "at '/monitoring/rules/runbooks'"),
        ({"monitoring.rule.enabled": True}, "additional properties 'rule' not allowed"),
        ({"runtimes.gpu.enabled": True}, "additional properties 'gpu' not allowed"),
        ({"runtimes.cpu.kvCacheGiB": 0}, "at '/runtimes/cpu/kvCacheGiB'"),
        ({"prometheusUrls": ["prometheus:9090"]}, "at '/prometheusUrls/0'"),
        ({"rbac.controlServices": ["llama"]}, "at '/rbac/controlServices/0'"),
        ({"rbac.dial": "auto"}, "at '/rbac/dial'"),
        ({"networkPolicy.apiServerPorts": [0]}, "at '/networkPolicy/apiServerPorts/0'"),
        ({"test.service": {"engine": {}}}, "missing property 'model'"),
        ({"podAnnotations": {"port": 9090}}, "at '/podAnnotations/port': got number, want string"),
    ],
    ids=lambda each: next(iter(each)) if isinstance(each, dict) else "",
)
def test_a_typo_or_a_wrong_type_is_refused_where_it_is(values: Mapping[str, Any], words: str) -> None:
    """Helm ignores an unknown value without an error, so the user's setting would be lost."""
    with pytest.raises(ClusterError, match=re.escape(words)):
        chart.template(values)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"replicas": 2}, "set leaderElection.enabled=true, or replicas=1"),
        ({"web.enabled": True, "web.port": 9090}, "choose another port"),
        ({"rbac.control": True, "rbac.controlServices": ["a/llama"]}, "rbac.control=true already covers it"),
        ({"namespaces": ["b"], "rbac.controlServices": ["a/llama"]}, "add it to namespaces, or remove the service"),
        (
            {"monitoring.service.enabled": False, "monitoring.serviceMonitor.enabled": True},
            "set monitoring.service.enabled=true",
        ),
    ],
    ids=["replicas", "port", "control twice", "control elsewhere", "monitor"],
)
def test_values_that_cannot_go_together_name_the_way_out(values: Mapping[str, Any], words: str) -> None:
    """The schema looks at each value for itself."""
    with pytest.raises(ClusterError, match=re.escape(words)):
        chart.template(values)


@pytest.mark.parametrize(
    ("values", "replicas"),
    [
        ({"shards": 3}, 3),
        ({"shards": 3, "replicas": 5}, 5),
        ({"shards": 3, "replicas": 0}, 0),
        ({"replicas": 2, "leaderElection.enabled": True}, 2),
    ],
    ids=["as many as shards", "with spare ones", "stopped", "one acts"],
)
def test_each_shard_has_a_replica(values: Mapping[str, Any], replicas: int) -> None:
    """A user who sets shards does not have to set replicas as well. Zero replicas stop the whole operator."""
    (made,) = (each for each in chart.objects(values) if each["kind"] == "Deployment")
    assert made["spec"]["replicas"] == replicas


def test_replicas_may_hold_the_lease_of_each_shard_and_no_other() -> None:
    """Their names are those of leadership/shards.py."""
    roles = {each["metadata"]["name"]: each for each in chart.objects({"shards": 2}) if each["kind"] == "Role"}
    named = roles["specdec-operator-leader-election"]["rules"][1]
    assert named["resourceNames"] == ["specdec-operator-0", "specdec-operator-1"]


def test_no_role_knows_a_wildcard_or_a_secret() -> None:
    """Least privilege: each verb on each kind is written out."""
    rules = [rule for case in CASES for each in chart.objects(CASES[case]) for rule in each.get("rules", [])]
    assert rules
    for rule in rules:
        assert "*" not in (*rule["apiGroups"], *rule["resources"], *rule["verbs"])
        assert "secrets" not in rule["resources"]


@pytest.mark.parametrize("case", CASES)
def test_no_container_writes_to_its_image(case: str) -> None:
    """Each has a writable /tmp instead. tests/wire/test_chart.py asks a namespace that is restricted for the rest."""
    specs = [each["spec"].get("template", each)["spec"] for each in chart.objects(CASES[case]) if each["kind"] in PODS]
    containers = [each for spec in specs for each in (*spec["containers"], *spec.get("initContainers", ()))]
    assert len(containers) >= 2
    assert all(each["securityContext"]["readOnlyRootFilesystem"] for each in containers)
    assert all("/tmp" in [mount["mountPath"] for mount in each["volumeMounts"]] for each in containers)  # noqa: S108
    for spec in specs:
        mounted = {mount["name"] for each in spec["containers"] for mount in each["volumeMounts"]}
        assert mounted == {each["name"] for each in spec["volumes"]}
