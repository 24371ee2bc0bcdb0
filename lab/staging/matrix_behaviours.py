"""What KServe does about pods, scaling and foreign objects: one short answer for each behaviour, by asking."""

import asyncio
import copy
import json
import pathlib
import subprocess
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import yaml
from hack.kserve import module
from tests.wire.api import DEPLOYMENT, EVENT, ISVC, Api, Object
from tests.wire.install import put_definition
from tests.wire.waiting import until

from lab.staging.matrix_cluster import Made, Namespace, sentence
from lab.staging.matrix_rows import manifest_of, plan_of
from specdec_operator.staging.kserve import KServe

HPA: Final = "autoscaling/v2", "horizontalpodautoscalers"
SCALED: Final = "keda.sh/v1alpha1", "scaledobjects"
KEDA: Final = "github.com/kedacore/keda/v2"
_KEDA_FILE: Final = "config/crd/bases/keda.sh_scaledobjects.yaml"
_WAITING: Final = {
    "type": "External",
    "external": {
        "metric": {"backend": "prometheus", "serverAddress": "http://prometheus:9090", "query": "sum(waiting)"},
        "target": {"type": "Value", "value": "4"},
    },
}
_SCALE: Final[dict[str, Object]] = {
    "none": {"replicas": 2},
    "hpa": {"autoscaling": {"autoscalerClass": "hpa", "minReplicas": 2, "maxReplicas": 4}},
    "keda": {"autoscaling": {"autoscalerClass": "keda", "minReplicas": 0, "maxReplicas": 4, "metrics": [_WAITING]}},
    "external": {"autoscaling": {"autoscalerClass": "external"}},
}
_SAID: Final = {"labels": {"said-in-metadata": "yes"}, "annotations": {"said/in-metadata": "yes"}}
_POD: Final = {"labels": {"said-of-pods": "yes"}, "annotations": {"said/of-pods": "yes"}}
_TRIES: Final = 80
"""Half a second each."""
_TWICE: Final = "/mnt/models"


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """A namespace with the services of all questions, and what became of them."""

    namespace: Namespace
    asked: dict[str, Object]
    made: dict[str, Made]

    async def deployment(self, name: str, suffix: str = "-predictor") -> Object | None:
        """A Deployment as it is now."""
        return await self.namespace.api.get(DEPLOYMENT, self.namespace.name, f"{name}{suffix}")

    async def reconciled(self, marker: str) -> None:
        """Waits until the controller has made something that was asked for after everything else."""
        late = _rendered(marker, self.namespace.name)
        await self.namespace.api.apply(ISVC, self.namespace.name, late)

        async def there() -> bool:
            return await self.deployment(marker) is not None

        await until(f"Deployment {marker}-predictor", there)
        await asyncio.sleep(1)


async def behaviours(api: Api) -> dict[str, str]:
    """Every answer of the version that runs, by its question."""
    namespace = Namespace(api=api, name="behaviours")
    asked = _asked(namespace.name)
    await namespace.create(list(asked.values()))
    names = [each for each in asked if each != "keda"]  # without KEDA nothing is certain to come
    world = World(namespace=namespace, asked=asked, made=await namespace.made(names))
    await world.reconciled("first")
    answers = {question: await ask(world) for question, ask in _QUESTIONS.items()}
    return answers | await _disturbed(world)


async def with_keda(api: Api) -> str:
    """What a service of KEDA's becomes on a controller that was started when KEDA's CRD was there."""
    namespace = Namespace(api=api, name="keda")
    await namespace.create([_rendered("keda", namespace.name, **_SCALE["keda"])])
    made = (await namespace.made(["keda"]))["keda"]
    if made.words:
        return f"refused by {made.by}: {made.words}"

    async def there() -> list[Object] | str:
        return await api.items(SCALED, namespace.name) or await _complaint(api, namespace.name, "keda")

    found = await until("a ScaledObject", there)
    if isinstance(found, str):
        return found
    (found,) = found
    return f"a ScaledObject from {found['spec'].get('minReplicaCount')} to {found['spec'].get('maxReplicaCount')} pods"


async def install_keda(api: Api, version: str) -> str:
    """Install the ScaledObject's CRD out of the KEDA module that this KServe is built with; returns its version."""
    source = module.source(version)
    words = ["go", "list", "-m", "-json", KEDA]
    told = json.loads(subprocess.run(words, cwd=source, capture_output=True, text=True, check=True).stdout)
    text = (pathlib.Path(told["Dir"]) / _KEDA_FILE).read_text()
    body = yaml.safe_load(text)
    await put_definition(api, body)
    return str(told["Version"]).removeprefix("v")


def _rendered(name: str, namespace: str, **spec: Any) -> Object:
    body = {
        "metadata": {"name": name},
        "spec": {"model": {"uri": "pvc://models/target"}, "engine": {"accelerator": "cpu"}, **spec},
    }
    return manifest_of(plan_of(body, KServe(version=(0, 20))), name, namespace)


def _asked(namespace: str) -> dict[str, Object]:
    plain = {name: _rendered(name, namespace, **more) for name, more in _SCALE.items()}
    plain["meta"] = _rendered("meta", namespace, inferenceService=_SAID, pod=_POD)
    for name in ("path", "named", "pvcs", "downloads", "no-class"):
        plain[name] = copy.deepcopy(_rendered(name, namespace))
    plain["path"]["spec"]["predictor"]["model"]["env"] = [{"name": "PYTHONPATH", "value": "/somewhere"}]
    plain["named"]["spec"]["predictor"]["model"]["name"] = "kserve-container"
    del plain["no-class"]["metadata"]["annotations"]["serving.kserve.io/autoscalerClass"]
    for name, uris in (("pvcs", ("pvc://a", "pvc://b")), ("downloads", ("s3://bucket/a/", "s3://bucket/b/"))):
        twice = [{"uri": each, "mountPath": _TWICE} for each in uris]
        plain[name]["spec"]["predictor"]["storageUris"] = twice
    return plain


async def _replicas(world: World, name: str, *, hpa: bool = False) -> str:
    """How many pods there are, and by which HPA. hpa: it is waited for, because it comes after the Deployment: later,
    if the controller has much to do or to repeat.
    """
    found = await world.namespace.api.get(HPA, world.namespace.name, f"{name}-predictor")
    for _ in range(_TRIES if hpa and found is None else 0):
        if found := await world.namespace.api.get(HPA, world.namespace.name, f"{name}-predictor"):
            break
        await asyncio.sleep(0.5)
    deployment = await world.deployment(name)
    number = "no Deployment" if deployment is None else f"{deployment['spec']['replicas']} pods"
    if found is None:
        return f"{number}, no HPA"
    spec = found["spec"]
    by = spec["metrics"][0]["resource"]
    target = f"{by['name']} {by['target']['averageUtilization']} %"
    return f"{number}, an HPA from {spec.get('minReplicas')} to {spec['maxReplicas']} by {target}"


async def _scaled_keda(world: World) -> str:
    found = (await world.namespace.now(["keda"]))["keda"]
    if found.words:
        return f"refused by {found.by}: {found.words}"
    made = "a Deployment with pods" if found.pod else "a Deployment" if found.deployment else "no Deployment"
    told = await _complaint(world.namespace.api, world.namespace.name, "keda")
    return f"{made}; {told or 'no complaint'}"


async def _complaint(api: Api, namespace: str, name: str) -> str:
    """The last warning about an InferenceService."""
    events = await api.items(EVENT, namespace)
    told = [each for each in events if each["involvedObject"]["name"] == name and each["type"] == "Warning"]
    return sentence(told[-1]["message"]) if told else ""


async def _reach(world: World) -> str:
    """Where each label and annotation is found."""
    deployment, pod = world.made["meta"].deployment, world.made["meta"].pod
    assert deployment is not None
    assert pod is not None
    places = {"Deployment": deployment["metadata"], "pod": pod["metadata"]}
    found = []
    for kind in ("labels", "annotations"):
        for where, said in (("metadata", _SAID), ("predictor", _POD)):
            (key,) = said[kind]
            on = [place for place, meta in places.items() if key in (meta.get(kind) or {})]
            found.append(f"{kind} of the {where}: {' and '.join(on) or 'nowhere'}")
    return "; ".join(found)


async def _deadline(world: World) -> str:
    deployment = await world.deployment("none")
    assert deployment is not None
    return f"{deployment['spec']['progressDeadlineSeconds']} s"


async def _refused(world: World, name: str) -> str:
    made = world.made[name]
    return f"refused by {made.by}: {made.words}" if made.words else "accepted"


async def _twice(world: World, name: str) -> str:
    """Two entries of storageUris with one mountPath."""
    made = world.made[name]
    if made.pod is None:
        return await _refused(world, name)
    spec = made.pod["spec"]
    claims = [each["persistentVolumeClaim"]["claimName"] for each in spec["volumes"] if "persistentVolumeClaim" in each]
    args = [word for each in spec.get("initContainers") or () for word in each.get("args") or ()]
    has = [each for each in ("s3://bucket/a/", "s3://bucket/b/") if each in args]
    has += [f"pvc://{each}" for each in claims if each in ("a", "b")]
    return f"accepted; the pod has {' and '.join(has) or 'neither'}"


async def _defaults(world: World) -> str:
    """Fields that the stored object has and the rendered one has not."""
    isvc = world.made["none"].isvc
    assert isvc is not None
    added = sorted(set(_added(world.asked["none"]["spec"], isvc["spec"], "spec")))
    meta = {key: isvc["metadata"].get(key) or {} for key in ("labels", "annotations", "finalizers")}
    asked = world.asked["none"]["metadata"]
    added += sorted(
        f"metadata.{kind}[{each}]" for kind, there in meta.items() for each in there if each not in asked.get(kind, ())
    )
    return ", ".join(added) or "nothing"


def _added(asked: Any, stored: Any, path: str) -> list[str]:
    if isinstance(asked, dict) and isinstance(stored, dict):
        new = [f"{path}.{key}" for key in stored if key not in asked]
        return new + [each for key in asked for each in _added(asked[key], stored.get(key), f"{path}.{key}")]
    if isinstance(asked, list) and isinstance(stored, list) and len(asked) == len(stored):
        pairs = zip(asked, stored, strict=True)
        return [each for index, (ours, theirs) in enumerate(pairs) for each in _added(ours, theirs, f"{path}[{index}]")]
    return [] if asked == stored else [f"{path} (changed)"]


async def _disturbed(world: World) -> dict[str, str]:
    """What others do to KServe's Deployments, and what is left of it once KServe has looked again."""
    api, namespace = world.namespace.api, world.namespace.name
    orphan = _orphan(await world.deployment("none"), namespace)
    await api.create(DEPLOYMENT, namespace, orphan)
    for name in ("none", "hpa", "external"):
        await api.merge(DEPLOYMENT, namespace, f"{name}-predictor", {"spec": {"replicas": 5}})
    slower = {"spec": {"progressDeadlineSeconds": 1800}}
    await api.merge(DEPLOYMENT, namespace, "meta-predictor", slower)
    note = {"metadata": {"annotations": {"touched": "yes"}}}
    for name in ("none", "hpa", "external", "meta"):
        await api.merge(ISVC, namespace, name, note)
    await world.reconciled("late")
    found = {"a Deployment with KServe's two labels and another name": await _gone(world, "foreign")}
    for name in ("none", "hpa", "external"):
        deployment = await world.deployment(name)
        left = deployment["spec"]["replicas"] if deployment else None
        found[f"kubectl scale to 5 with autoscalerClass {name}"] = "stays" if left == 5 else f"back to {left}"
    deployment = await world.deployment("meta")
    left = deployment["spec"]["progressDeadlineSeconds"] if deployment else None
    found["progressDeadlineSeconds set on the Deployment"] = "stays" if left == 1800 else f"back to {left}"
    return found


async def _gone(world: World, name: str) -> str:
    return "deleted" if await world.deployment(name, "") is None else "stays"


def _orphan(of: Object | None, namespace: str) -> Object:
    assert of is not None
    labels = {"serving.kserve.io/inferenceservice": "none", "component": "predictor"}
    own = {"foreign": "yes"}
    template = {"metadata": {"labels": own}, "spec": {"containers": [{"name": "a", "image": "registry.example/a:1"}]}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "foreign", "namespace": namespace, "labels": labels},
        "spec": {"replicas": 0, "selector": {"matchLabels": own}, "template": template},
    }


_QUESTIONS: Final[dict[str, Callable[[World], Awaitable[str]]]] = {
    "autoscalerClass none, two pods": partial(_replicas, name="none"),
    "autoscalerClass hpa": partial(_replicas, name="hpa", hpa=True),
    "no autoscalerClass, one pod": partial(_replicas, name="no-class", hpa=True),
    "autoscalerClass external": partial(_replicas, name="external"),
    "autoscalerClass keda without KEDA's CRD": _scaled_keda,
    "where labels and annotations arrive": _reach,
    "progressDeadlineSeconds of the Deployment": _deadline,
    "PYTHONPATH in the model's env": partial(_refused, name="path"),
    "model.name": partial(_refused, name="named"),
    "two PVCs in storageUris with one mountPath": partial(_twice, name="pvcs"),
    "two downloads in storageUris with one mountPath": partial(_twice, name="downloads"),
    "fields added to a rendered InferenceService": _defaults,
}
