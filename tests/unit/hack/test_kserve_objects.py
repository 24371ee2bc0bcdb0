"""hack.kserve: what of upstream's manifests is applied, and what is changed in it."""

import base64
import copy
import json
from typing import Any

from hack.kserve import objects

Object = dict[str, Any]
SERVICE = "kserve-webhook-server-service"


def made(kind: str, name: str, **parts: Any) -> Object:
    """An object of upstream's."""
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name}} | parts


def webhook(name: str, service: str, path: str) -> Object:
    """One webhook, which asks a Service."""
    return {"name": name, "clientConfig": {"service": {"name": service, "namespace": "kserve", "path": path}}}


def upstream() -> list[Object]:
    """Objects of each kind, as upstream has them."""
    data = {
        "_example": "#",
        "deploy": json.dumps({"defaultDeploymentMode": "Serverless"}),
        "ingress": json.dumps({"ingressDomain": "example.com", "disableIngressCreation": False}),
        "storageInitializer": json.dumps({"image": "theirs:latest", "uidModelcar": 1010}),
        "logger": "{}",
    }
    containers = [{"name": "proxy", "image": "proxy:1"}, {"name": "manager", "image": "theirs:latest"}]
    pods = {"replicas": 1, "template": {"spec": {"containers": containers}}}
    mutating = made("MutatingWebhookConfiguration", "inferenceservice", webhooks=[webhook("a", SERVICE, "/mutate")])
    mutating["metadata"]["annotations"] = {"cert-manager.io/inject-ca-from": "kserve/serving-cert"}
    other = [webhook("b", "llmisvc-webhook-server-service", "/other")]
    return [
        made("CustomResourceDefinition", "inferenceservices.serving.kserve.io"),
        made("CustomResourceDefinition", "llminferenceservices.serving.kserve.io"),
        made("CustomResourceDefinition", "localmodelcaches.serving.kserve.io"),
        made("ConfigMap", "inferenceservice-config", data=data),
        made("Deployment", "kserve-controller-manager", spec=pods),
        made("Deployment", "llmisvc-controller-manager", spec=pods),
        made("ServiceAccount", objects.ACCOUNT),
        made("Service", SERVICE),
        mutating,
        made("ValidatingWebhookConfiguration", "llmisvc", webhooks=other),
        made("ClusterServingRuntime", "kserve-huggingfaceserver"),
        made("ClusterStorageContainer", "default", spec={"container": {"image": "theirs:latest"}}),
    ]


def test_parts_with_controllers_of_their_own_are_left_out() -> None:
    names = [each["metadata"]["name"] for each in objects.definitions(upstream())]
    assert names == ["inferenceservices.serving.kserve.io"]
    before = objects.before_start(upstream(), version="1.2.3")
    assert [each["metadata"]["name"] for each in before if each["kind"] == "Deployment"] == [objects.ACCOUNT]


def test_the_namespace_comes_first_and_what_only_the_cluster_asks_for_later() -> None:
    before = objects.before_start(upstream(), version="1.2.3")
    assert before[0] == {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kserve"}}
    assert {each["kind"] for each in before} == {"Namespace", "ConfigMap", "Deployment", "ServiceAccount"}


def test_the_configuration_is_standard_mode_without_an_ingress_and_otherwise_upstreams() -> None:
    (found,) = [each for each in objects.before_start(upstream(), version="1.2.3") if each["kind"] == "ConfigMap"]
    data = {key: json.loads(part) for key, part in found["data"].items()}
    assert data == {
        "deploy": {"defaultDeploymentMode": "Standard"},
        "ingress": {"ingressDomain": "example.com", "disableIngressCreation": True, "disableIstioVirtualHost": True},
        "storageInitializer": {"image": "localhost/storage-initializer:v1.2.3", "uidModelcar": 1010},
        "logger": {},
    }


def test_the_deployment_shows_the_version_and_has_no_pod() -> None:
    (found,) = [each for each in objects.before_start(upstream(), version="1.2.3") if each["kind"] == "Deployment"]
    assert found["spec"]["replicas"] == 0
    images = {each["name"]: each["image"] for each in found["spec"]["template"]["spec"]["containers"]}
    assert images == {"proxy": "proxy:1", "manager": "kserve/kserve-controller:v1.2.3"}
    assert found["metadata"]["annotations"]["specdec.io/runs"] == "as a process of hack.cluster"


def test_webhooks_are_asked_at_the_process_and_trusted_by_its_authority_alone() -> None:
    (found,) = objects.webhooks(upstream(), port=1234, authority=b"PEM")
    assert "annotations" not in found["metadata"]
    bundle = base64.b64encode(b"PEM").decode()
    assert [each["clientConfig"] for each in found["webhooks"]] == [
        {"url": "https://127.0.0.1:1234/mutate", "caBundle": bundle}
    ]


def test_runtimes_are_upstreams_and_downloads_have_an_image_that_is_there() -> None:
    runtime, container = objects.after_start(upstream(), version="1.2.3")
    assert runtime == made("ClusterServingRuntime", "kserve-huggingfaceserver")
    assert container["spec"]["container"]["image"] == "localhost/storage-initializer:v1.2.3"


def test_upstreams_objects_are_not_changed() -> None:
    given = upstream()
    before = copy.deepcopy(given)
    objects.before_start(given, version="1.2.3")
    objects.webhooks(given, port=1, authority=b"")
    objects.after_start(given, version="1.2.3")
    assert given == before
