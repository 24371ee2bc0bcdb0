"""Images and runtimes of somebody else, with a real operator and API server: what is rendered, admitted and told."""

import copy
import uuid
from typing import Final

import pytest

from specdec_operator.render.instrument import FOLDER
from tests.wire.api import DEPLOYMENT, Api, Object, Refused
from tests.wire.operator import OperatorProcess
from tests.wire.test_pod_security import CLAIM, LEVEL, RUNTIMES, admitted, engine_pod, runtime
from tests.wire.world import NAME, REVISION, World, sis

OPERATOR: Final = "registry.example/specdec-operator:1"
STOCK: Final = {"accelerator": "nvidia", "image": "docker.io/vllm/vllm-openai:v0.22.0", "version": "0.22.0"}
THEIRS: Final = {"accelerator": "nvidia", "runtime": "platform-vllm"}
QUOTA: Final = "v1", "resourcequotas"
SHIPPED: Final = {path.stem: path for path in RUNTIMES}


@pytest.fixture
def environment() -> dict[str, str]:
    """What the chart tells the operator of its own image."""
    return {"SPECDEC_IMAGE": OPERATOR}


async def _told(world: World, kind: str) -> Object | None:
    conditions = (await world.status()).get("conditions", [])
    return next((each for each in conditions if each["type"] == kind), None)


async def test_another_image_gets_what_it_lacks_from_the_operators(world: World, operator: OperatorProcess) -> None:
    """The API server keeps the init container, the rollback has it too, and the status says so."""
    await world.apply(sis(engine=STOCK))
    predictor = (await world.child())["spec"]["predictor"]
    (init,) = predictor["initContainers"]
    assert init["image"] == OPERATOR
    assert predictor["model"]["startupProbe"]["exec"]["command"][:2] == ["python3", FOLDER]
    await world.condition("Instrumented", "True")
    note = {"metadata": {"annotations": {"specdec.io/rollback": "by a test"}}}
    await world.api.merge(("serving.specdec.io/v1alpha1", "speculativeinferenceservices"), world.namespace, NAME, note)
    plain = (await world.child(speculative=False))["spec"]["predictor"]
    assert plain["initContainers"] == predictor["initContainers"]


async def test_another_runtime_goes_without_until_it_is_seen_to_have_it(
    world: World, operator: OperatorProcess
) -> None:
    """Its Deployment shows what it starts: one that is built on ours is then probed and drained as ours."""
    await world.apply(sis(engine=THEIRS))
    child = await world.child()
    model = child["spec"]["predictor"]["model"]
    assert model["startupProbe"]["httpGet"]["path"] == "/health"
    assert "lifecycle" not in model
    await world.condition("Instrumented", "False")
    said = await _told(world, "Instrumented")
    assert said is not None
    assert said["reason"] == "ForeignRuntime"
    assert "without preflight" in said["message"]
    assert "spec.engine.instrument" in str(await _told(world, "Warned"))

    await world.roll_out(child, ready=False)
    command = {"spec": {"template": {"spec": {"containers": [
        {"name": "kserve-container", "image": "i", "command": ["python3", "-m", "specdec_runtime", "serve"]}
    ]}}}}  # fmt: skip
    await world.api.apply(DEPLOYMENT, world.namespace, _deployment(command), "plays-a-runtime")

    async def probed() -> Object | None:
        found = await world.child()
        return found if "exec" in found["spec"]["predictor"]["model"]["startupProbe"] else None

    seen = await world.until("the probes of specdec_runtime", probed)
    assert "httpGet" not in seen["spec"]["predictor"]["model"]["startupProbe"]
    assert seen["spec"]["predictor"]["labels"][REVISION] != child["spec"]["predictor"]["labels"][REVISION]

    async def gone() -> bool:
        return await _told(world, "Instrumented") is None

    await world.until("nothing more to be said", gone)


def _deployment(command: Object) -> Object:
    return {"apiVersion": DEPLOYMENT[0], "kind": "Deployment", "metadata": {"name": f"{NAME}-predictor"}} | command


async def test_the_pods_are_let_in_where_the_level_is_restricted_and_a_quota_asks_for_all(api: Api) -> None:
    """The init container says what both ask for; without its part of it each refuses the pod."""
    namespace = f"restricted-{uuid.uuid4().hex[:8]}"
    await api.call("post", "/api/v1/namespaces", {"metadata": {"name": namespace, "labels": {LEVEL: "restricted"}}})
    hard = {f"{which}.{what}": "100" for which in ("requests", "limits") for what in ("cpu", "memory")}
    hard |= {each: f"{amount}Gi" for each, amount in hard.items() if each.endswith("memory")}
    await api.create(QUOTA, namespace, {"metadata": {"name": "team"}, "spec": {"hard": hard}})
    used = {"status": {"hard": hard, "used": dict.fromkeys(hard, "0")}}  # as its controller counts
    await api.merge(QUOTA, namespace, "team", used, "status")
    amounts = {"cpu": "1", "memory": "1Gi"}
    parts = {"resources": {"requests": amounts, "limits": amounts}, "engine": STOCK}
    pod = engine_pod(runtime(SHIPPED["nvidia"]), CLAIM, more=parts)
    assert [each["name"] for each in pod["spec"]["initContainers"]] == ["specdec-runtime"]
    await admitted(api, namespace, pod)
    for part, words in (("securityContext", "violates PodSecurity"), ("resources", "must specify")):
        less = copy.deepcopy(pod)
        del less["spec"]["initContainers"][0][part]
        with pytest.raises(Refused, match=words):
            await admitted(api, namespace, less)
