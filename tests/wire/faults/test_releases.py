"""The first release is upgraded to this one, and goes back, with services in the middle of things."""

import pathlib
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any, Final

import pytest
from hack.cluster import kubectl

from specdec_operator import names
from specdec_operator.schema.crd import crd
from tests import installed, released
from tests.released import Release
from tests.wire.api import ISVC, SIS, Api, Object, documents
from tests.wire.controllers import RUNTIMES
from tests.wire.faults.acts import baseline_pods, busy, rolled_back, rolled_back_once, verdict, watched
from tests.wire.faults.table import Part, fault
from tests.wire.faults.verdict import CLAIM, JOB, decided_once
from tests.wire.install import install, operator_kubeconfig, put_definition
from tests.wire.operator import OperatorProcess
from tests.wire.pods import EngineStandIn
from tests.wire.world import NAME, World, sis

_DECIDED: Final = (
    *("speculation", "service", "replacing", "rollback", "reduced", "would", "rollbacks", "retries", "restarts"),
    *("handledRetry", "handledRollback", "measuring", "attempted"),
)
"""Fields of status.guard that hold decisions, and what must not be forgotten."""
_PROBE: Final = "livenessProbe"
_DIAL: Final = "specdec-dial"
_ENGINE: Final = "SPECDEC_ENGINE"
"""What this release adds to the pods of the first one, so each of them is replaced once (CHANGELOG.md)."""
_STAGING: Final = {"mode": "PersistentVolumeClaim", "claim": {"storage": "1Gi"}}


@pytest.fixture
def kubeconfig(own_kubeconfig: pathlib.Path) -> pathlib.Path:
    """The CRD is changed here."""
    return own_kubeconfig


@pytest.fixture
def runtimes(kubeconfig: pathlib.Path, tmp_path: pathlib.Path) -> None:
    """Our runtimes under the names that the first release gave them: else another name would renew its pods."""
    found = [each for path in RUNTIMES for each in documents(path.read_text())]
    for each in found:
        each["metadata"]["name"] = each["metadata"]["name"].rpartition("-")[0]
    kubectl.apply(kubeconfig, found, tmp_path / "runtimes.json")


@pytest.fixture
async def worlds(api: Api) -> AsyncIterator[list[World]]:
    """Three namespaces with a service each."""
    async with AsyncExitStack() as stack:
        yield [await stack.enter_async_context(await World.fresh(api)) for _ in range(3)]


class _Cluster:
    """The cluster with the operator of one release at a time."""

    def __init__(self, api: Api, kubeconfig: pathlib.Path, worlds: list[World], folder: pathlib.Path) -> None:
        self._api, self._kubeconfig, self._worlds, self._folder = api, kubeconfig, worlds, folder
        self._starts = 0
        self.operator: OperatorProcess | None = None

    async def install(self, release: Release) -> None:
        """The CRD, and what the operator may do."""
        await install(self._api, [release.crd, *release.rbac])

    async def start(self, release: Release) -> None:
        """The operator, in the place of the one before."""
        if self.operator is not None:
            await self.operator.stop()
        self._starts += 1
        own = await operator_kubeconfig(self._api, self._kubeconfig, self._folder / "kubeconfig")
        namespaces = ",".join(each.namespace for each in self._worlds)
        environment = {"PYTHONPATH": release.python_path, "SPECDEC_STORAGE_INITIALIZER": "registry.example/storage:1"}
        environment |= {installed.RUNTIMES: ""}
        name = f"operator-{self._starts}"
        self.operator = OperatorProcess(own, namespaces, self._folder, name=name, environment=environment)
        await self.operator.start()

    async def settled(self) -> None:
        """Waits until the operator has decided again about each service: a change of the guard rolls nothing out."""
        for world in self._worlds:
            change = {"spec": {"guard": {"failureLimit": 2 + self._starts}}}
            generation = (await world.api.merge(SIS, world.namespace, NAME, change))["metadata"]["generation"]

            async def told(world: World = world, generation: int = generation) -> bool:
                return bool((await world.status())["observedGeneration"] == generation)

            await world.until("a decision of the other release", told)


async def _kept(worlds: list[World]) -> list[Any]:
    """Decisions; PVCs and Jobs; and the parts of InferenceServices that reach pods, without what this release adds."""
    pictures = []
    for world in worlds:
        guard = (await world.status())["guard"]
        objects = {
            (each["metadata"]["name"], each["metadata"]["uid"], each["metadata"].get("generation"))
            for kind in (CLAIM, JOB)
            for each in await world.api.items(kind, world.namespace)
        }
        asked = [_in_pods(each) for each in await world.api.items(ISVC, world.namespace)]
        pictures.append(({name: guard.get(name) for name in _DECIDED}, objects, asked))
    return pictures


def _in_pods(child: Object) -> Object:
    """The parts of an InferenceService that reach its pods: the other parts change a rollout, and replace no pod."""
    predictor = child["spec"]["predictor"]
    beside = ("minReplicas", "maxReplicas", "deploymentStrategy", "model", "labels")  # one of these is the revision
    model = {key: each for key, each in predictor["model"].items() if key != _PROBE}
    model |= _without(model, "volumeMounts", _DIAL) | _without(model, "env", _ENGINE)
    kept = {key: predictor[key] for key in predictor if key not in beside}
    return {"uid": child["metadata"]["uid"], "model": model} | kept | _without(predictor, "volumes", _DIAL)


def _without(parent: Object, key: str, name: str) -> Object:
    """A list of the parent without the entry of that name; none where nothing else is in it."""
    return {key: [each for each in parent.get(key, []) if each["name"] != name] or None}


async def _replaced(watching: World, back: World, engine: EngineStandIn, *, probed: bool) -> None:
    """Plays the kubelet for the pods of the other release. probed: whether that one renders the probe."""

    async def rendered(world: World) -> bool:
        child = await world.api.get(ISVC, world.namespace, NAME)
        return child is not None and (_PROBE in child["spec"]["predictor"]["model"]) is probed

    for world in (watching, back):
        await world.until("the pods of the other release", lambda world=world: rendered(world))  # type: ignore[misc]
    await watching.roll_out(await watching.child(speculative=True), engine)
    await watching.phase("Watching")
    await baseline_pods(back)


async def _job(world: World, artifact: str) -> Object:
    """Waits for the download Job of an artifact."""

    async def there() -> Object | None:
        found = await world.api.items(JOB, world.namespace)
        return next((each for each in found if f"-{artifact}-" in each["metadata"]["name"]), None)

    found: Object = await world.until(f"the Job that downloads the {artifact}", there)
    return found


async def _downloaded(world: World, job: Object) -> None:
    """Plays the Job's controller at the end of a download."""
    at = "2026-01-01T00:00:00Z"
    done = [{"type": each, "status": "True", "lastTransitionTime": at} for each in ("SuccessCriteriaMet", "Complete")]
    status = {"startTime": at, "completionTime": at, "succeeded": 1, "conditions": done}
    await world.api.merge(JOB, world.namespace, job["metadata"]["name"], {"status": status}, "status")


@fault(
    part=Part.OPERATOR,
    when="an upgrade from the first release, and a downgrade",
    then="no decision is lost, downloads continue, pods are replaced once",
)
@pytest.mark.usefixtures("runtimes")
async def test_an_upgrade_and_the_way_back_lose_nothing(
    api: Api, kubeconfig: pathlib.Path, worlds: list[World], tmp_path: pathlib.Path
) -> None:
    """Both operators are real processes with their own code; what they know of each other is in the status."""
    first, current = released.unpack(tmp_path / "first"), released.current()
    watching, back, downloading = worlds
    cluster = _Cluster(api, kubeconfig, worlds, tmp_path)
    await cluster.install(first)
    await cluster.start(first)
    try:
        engine = busy()
        await watched(watching, engine)
        await verdict(watching, "Accepted")
        await rolled_back(back)
        hub = {"model": {"uri": "hf://org/model:main"}, "staging": _STAGING}
        await downloading.apply(_downloads(**hub))
        target = await _job(downloading, "target")
        await cluster.settled()
        before = await _kept(worlds)

        await cluster.install(current)
        await cluster.start(current)
        await cluster.settled()
        await _replaced(watching, back, engine, probed=True)
        assert await _kept(worlds) == before
        await watching.read_again(3, engine)
        await _downloaded(downloading, target)
        draft = await _job(downloading, "draft")
        before = await _kept(worlds)

        await cluster.start(first)
        await cluster.install(first)
        await cluster.settled()
        await _replaced(watching, back, engine, probed=False)
        assert await _kept(worlds) == before
        await _downloaded(downloading, draft)
        await downloading.child(speculative=True)
        await decided_once(back, "AcceptanceRateLow")
        engine.acceptance = 0.0
        await rolled_back_once(watching)
    finally:
        if cluster.operator is not None:
            await cluster.operator.stop()


@fault(
    part=Part.OBJECTS,
    when="a second version of the API is served, and then stored",
    then="the guards continue; no InferenceService is written",
)
async def test_a_second_version_of_the_api_stops_no_guard(api: Api, world: World, operator: OperatorProcess) -> None:
    """The way from v1alpha1 to v1beta1: both agree, so nothing has to convert."""
    engine = busy()
    await watched(world, engine)
    generation = (await world.child())["metadata"]["generation"]
    newer = f"{names.GROUP}/v1beta1", names.PLURAL
    for limit, stored in enumerate((names.VERSION, "v1beta1"), start=3):
        await put_definition(api, crd((names.VERSION, "v1beta1"), stored))
        change = {"spec": {"guard": {"failureLimit": limit}}}
        asked = (await api.merge(newer, world.namespace, NAME, change))["metadata"]["generation"]

        async def told(asked: int = asked) -> bool:
            return bool((await world.status())["observedGeneration"] == asked)

        await world.until("a decision about what was written in the newer version", told)
        await world.read_again(3, engine)
        await verdict(world, "Accepted")
    assert (await world.child())["metadata"]["generation"] == generation
    engine.acceptance = 0.0
    await rolled_back_once(world)


def _downloads(**spec: Any) -> Object:
    """A service whose models are downloaded once."""
    draft = {"method": "draft_model", "tokens": 4, "draft": {"uri": "hf://org/draft:main"}}
    return sis(speculation=draft, **spec)
