"""What the chart renders, asked of a real API server: it would take every object, and knows every field."""

from typing import Any

import pytest
from hack.helm import chart

from tests.chart_values import CASES
from tests.wire.api import APPLY, Api, Object, Refused

PLACES = {
    "CustomResourceDefinition": "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    "ClusterRole": "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    "ClusterRoleBinding": "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
    "ValidatingAdmissionPolicy": "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies",
    "ValidatingAdmissionPolicyBinding": "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings",
    "ClusterServingRuntime": "/apis/serving.kserve.io/v1alpha1/clusterservingruntimes",
    "Role": "/apis/rbac.authorization.k8s.io/v1/namespaces/{}/roles",
    "RoleBinding": "/apis/rbac.authorization.k8s.io/v1/namespaces/{}/rolebindings",
    "Deployment": "/apis/apps/v1/namespaces/{}/deployments",
    "Job": "/apis/batch/v1/namespaces/{}/jobs",
    "NetworkPolicy": "/apis/networking.k8s.io/v1/namespaces/{}/networkpolicies",
    "PodDisruptionBudget": "/apis/policy/v1/namespaces/{}/poddisruptionbudgets",
    "ConfigMap": "/api/v1/namespaces/{}/configmaps",
    "Pod": "/api/v1/namespaces/{}/pods",
    "Service": "/api/v1/namespaces/{}/services",
    "ServiceAccount": "/api/v1/namespaces/{}/serviceaccounts",
}
OF_OTHERS = frozenset({"ServiceMonitor", "PodMonitor", "PrometheusRule"})
"""Kinds of prometheus-operator, whose CRDs are not here."""


async def ask(api: Api, body: Object, namespace: str) -> Object:
    """A dry run of applying an object, strict, in a namespace that is there. Raises Refused."""
    meta: dict[str, Any] = body["metadata"]
    if "namespace" in meta:
        body = body | {"metadata": meta | {"namespace": namespace}}
    path = f"{PLACES[body['kind']].format(namespace)}/{meta['name']}"
    strict = [("dryRun", "All"), ("fieldValidation", "Strict")]
    words = {"content_type": APPLY, "field_manager": "chart-tests", "force_conflicts": True}
    return await api.call("patch", path, body, query_params=strict, **words)


async def place(api: Api) -> str:
    """A namespace into which no pod comes that PodSecurity's `restricted` refuses."""
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "chart", "labels": labels}}
    path = "/api/v1/namespaces/chart"
    await api.call("patch", path, body, content_type=APPLY, field_manager="chart-tests", force_conflicts=True)
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "specdec-operator-test"}}
    made = f"{path}/serviceaccounts/specdec-operator-test"
    await api.call("patch", made, account, content_type=APPLY, field_manager="chart-tests")
    return "chart"


@pytest.mark.parametrize("case", CASES)
async def test_the_api_server_takes_every_object(api: Api, case: str) -> None:
    """A misspelt field is refused by strict validation, a pod that may too much by PodSecurity."""
    namespace = await place(api)
    objects = [each for each in chart.objects(CASES[case]) if each["kind"] not in OF_OTHERS]
    assert {"Deployment", "Pod"} <= {each["kind"] for each in objects}
    for body in objects:
        await ask(api, body, namespace)


async def test_a_pod_that_may_more_is_refused(api: Api) -> None:
    """So that the test above would see it."""
    namespace = await place(api)
    (pod,) = (each for each in chart.objects({}) if each["kind"] == "Pod")
    pod["spec"]["containers"][0]["securityContext"]["allowPrivilegeEscalation"] = True
    with pytest.raises(Refused, match="violates PodSecurity"):
        await ask(api, pod, namespace)
