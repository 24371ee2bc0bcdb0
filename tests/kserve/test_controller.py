"""What of KServe's controller surprises: the operator and its pages count on each of these."""

import asyncio

import pytest

from tests.kserve.made import SERVICE, Place, condition_of, engine_of
from tests.kserve.services import runtime, service
from tests.wire.api import DEPLOYMENT, ISVC, POD, Object
from tests.wire.waiting import until

PREDICTOR = "asked-predictor"


async def run(place: Place, pod: Object) -> None:
    """Set a pod's status to running and ready, as a kubelet would."""
    status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    await place.api.merge(POD, place.namespace, pod["metadata"]["name"], {"status": status}, "status")


async def crash(place: Place, pod: Object) -> None:
    """Set a pod's status to an engine that ended and was restarted."""
    ended = {"terminated": {"exitCode": 1, "reason": "Error", "message": "no such model"}}
    engine = {
        "name": "kserve-container",
        "image": "i",
        "imageID": "",
        "ready": False,
        "restartCount": 1,
        "state": ended,
        "lastState": ended,
    }
    status = {"phase": "Running", "containerStatuses": [engine], "conditions": [{"type": "Ready", "status": "False"}]}
    await place.api.merge(POD, place.namespace, pod["metadata"]["name"], {"status": status}, "status")


def is_ready(isvc: Object) -> bool:
    """Whether the InferenceService's condition Ready is True."""
    return condition_of(isvc, "Ready").get("status") == "True"


async def ready(place: Place, manifest: Object) -> Object:
    """An InferenceService whose pods are ready."""
    for pod in (await place.make(manifest)).pods:
        await run(place, pod)
    return await place.until_isvc(manifest["metadata"]["name"], "Ready", is_ready)


async def test_it_is_ready_while_old_pods_serve_and_new_ones_crash(place: Place) -> None:
    """`observedGeneration` is the Deployment's generation, and shows no more of it."""
    await ready(place, service())
    changed = service(model={"args": ["--seed=7"]})
    await place.apply(changed)

    async def two() -> list[Object]:
        found = await place.api.items(POD, place.namespace)
        return found if len(found) == 2 else []

    pods = await until("a pod of the new template", two)
    await crash(place, max(pods, key=lambda each: "--seed=7" in str(each["spec"])))
    found = await place.until_isvc("asked", "seen", lambda each: each["status"]["observedGeneration"] == 2)
    await asyncio.sleep(1)
    assert is_ready(found)
    states = found["status"]["modelStatus"]["states"]
    assert states == {"activeModelState": "Loaded", "targetModelState": "Loaded"}
    assert "lastFailureInfo" not in found["status"]["modelStatus"]


@pytest.mark.parametrize(("name", "beside"), [("vllm", ["agent"]), ("huggingface", [])])
async def test_another_format_without_storage_is_a_multi_model_server(
    place: Place, name: str, beside: list[str]
) -> None:
    """KServe's pod webhook then puts an agent into the pod, which waits for models that no component sends."""
    own = runtime("own")
    own["spec"]["supportedModelFormats"] = [{"name": name}]
    await place.give(own)
    made = await place.make(service(model={"modelFormat": {"name": name}, "runtime": "own"}))
    assert [each["name"] for each in made.pod["containers"]] == ["kserve-container", *beside]
    assert ("internal.serving.kserve.io/agent" in made.template["metadata"]["annotations"]) == bool(beside)
    assert [each["name"] for each in made.template["spec"]["containers"]] == ["kserve-container"]


async def test_args_are_added_to_the_runtimes(place: Place) -> None:
    """An InferenceService cannot take one of them back."""
    made = await place.make(service(model={"args": ["--port=1"]}))
    args = engine_of(made.pod)["args"]
    assert (args[0], args[-1]) == ("--port=8080", "--port=1")


async def test_a_new_runtime_is_found_by_a_retry_and_a_changed_one_replaces_pods(place: Place) -> None:
    """Of every service that names it."""
    manifest = service(model={"runtime": "later"})
    assert "No ServingRuntimes or ClusterServingRuntimes with the name: later" in await place.refusal(manifest)
    await place.give(runtime("later"))
    before = await place.made("asked")
    assert before.isvc["status"]["modelStatus"]["lastFailureInfo"]["reason"] == "RuntimeNotRecognized", "never cleared"
    await place.give(runtime("later", image="other"))

    async def changed() -> bool:
        found = await place.found("asked")
        return found is not None and engine_of(found.template["spec"])["image"] == "other"

    await until("another template", changed)
    assert engine_of(before.template["spec"])["image"] != "other"


async def test_a_restart_of_a_deployment_is_put_back(place: Place) -> None:
    """KServe reverts `kubectl rollout restart`, and removes a label that came with it. The lab scales one."""
    change = {"template": {"metadata": {"annotations": {"kubectl.kubernetes.io/restartedAt": "now"}}}}
    before = (await place.make(service())).deployment
    body = {"metadata": {"labels": {"theirs": "x"}}, "spec": change}
    await place.api.merge(DEPLOYMENT, place.namespace, PREDICTOR, body)

    async def back() -> bool:
        live = await place.api.get(DEPLOYMENT, place.namespace, PREDICTOR)
        assert live is not None
        again = live["metadata"]["generation"] > before["metadata"]["generation"] + 1
        return again and live["spec"] == before["spec"] and live["metadata"]["labels"] == before["metadata"]["labels"]

    await until("the Deployment is as it was", back)


async def test_an_old_annotation_stays_on_the_service(place: Place) -> None:
    """KServe does not take away what it does not know any more."""
    await place.make(service(notes={"example.com/old": "x"}))
    await place.api.merge(ISVC, place.namespace, "asked", {"metadata": {"annotations": {"example.com/old": None}}})
    await place.reconciled("asked")
    found = await place.found("asked")
    assert found is not None
    assert found.service is not None
    assert "example.com/old" in found.service["metadata"]["annotations"]
    assert "example.com/old" not in found.deployment["metadata"]["annotations"]


async def test_a_service_that_carries_its_labels_under_another_name_is_deleted(place: Place) -> None:
    """Also one that a user made. lab.staging.matrix asks the same about a Deployment."""
    source = (await place.make(service())).service
    assert source
    labels = {"serving.kserve.io/inferenceservice": "asked", "component": "predictor"}
    spec = {key: part for key, part in source["spec"].items() if key not in ("clusterIP", "clusterIPs")}
    meta = {"name": "theirs", "labels": labels}
    await place.give({"apiVersion": "v1", "kind": "Service", "metadata": meta, "spec": spec})
    await place.reconciled("asked")

    async def gone() -> bool:
        return await place.api.get(SERVICE, place.namespace, "theirs") is None

    await until("the Service is gone", gone)


async def test_placeholders_are_filled_as_html(place: Place) -> None:
    """Quotes are escaped, and a missing key becomes empty."""
    words = ["--a={{.Annotations.quoted}}", "--b={{.Labels.absent}}", "--c={{.Name}}"]
    await place.give(runtime("filled", args=words))
    made = await place.make(service(model={"runtime": "filled"}, notes={"quoted": '{"a": 1}'}))
    assert engine_of(made.pod)["args"] == ["--a={&#34;a&#34;: 1}", "--b=", "--c=asked"]


async def test_two_ports_need_names(place: Place) -> None:
    """Else the API server refuses the Service, and nothing else is made."""
    ports = [{"containerPort": each, "protocol": "TCP"} for each in (8080, 8081)]
    await place.give(runtime("ports", ports=ports))
    words = await place.refusal(service(model={"runtime": "ports"}))
    assert "spec.ports[0].name: Required value, spec.ports[1].name: Required value" in words
