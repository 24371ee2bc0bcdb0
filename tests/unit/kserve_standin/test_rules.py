"""The stand-in's rules that a recording shows only in passing."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
import yaml
from tests import installed
from tests.kserve_standin.__main__ import main
from tests.kserve_standin.conditions import Conditions
from tests.kserve_standin.install import crds
from tests.kserve_standin.merge import merge, merge_container
from tests.kserve_standin.model import ISVC_API, Manifest, RefusalKind, Refused, Runtime
from tests.kserve_standin.model_status import StillStarting, next_model_status
from tests.kserve_standin.runtimes import resolve
from tests.kserve_standin.scope import check_scope
from tests.kserve_standin.wake import woken
from tests.kserve_standin.workqueue import Workqueue
from tests.kserve_standin.world import World

DATA = Path(__file__).parents[2] / "data" / "kserve"


def isvc(**predictor: object) -> Manifest:
    """Return an InferenceService that the stand-in covers."""
    model = {"runtime": "rt", "modelFormat": {"name": "huggingface"}}
    meta = {"name": "llama", "namespace": "rec", "annotations": {}}
    spec = {"predictor": {"model": model, **predictor}}
    return {"apiVersion": ISVC_API, "kind": "InferenceService", "metadata": meta, "spec": spec}


def test_args_are_concatenated_and_the_runtimes_come_first() -> None:
    """An InferenceService can add to a runtime's args, never remove one."""
    merged = merge_container({"name": "c", "args": ["--port=1"]}, {"args": ["--port=2"]})
    assert merged == {"name": "c", "args": ["--port=1", "--port=2"]}


@pytest.mark.parametrize(
    ("base", "patch", "order"),
    [
        (["a", "b"], ["b", "c"], ["a", "b", "c"]),  # a known item keeps its place
        (["shm"], ["target", "draft"], ["target", "draft", "shm"]),  # new items come before untouched ones
        (["a", "b", "c"], ["c", "a"], ["b", "c", "a"]),  # the patch's own order wins
        (["a", "b"], [], ["a", "b"]),
    ],
)
def test_named_lists_are_interleaved(base: list[str], patch: list[str], order: list[str]) -> None:
    """The order of a merged list is Kubernetes' strategic merge's."""
    merged = merge({"env": [{"name": name} for name in base]}, {"env": [{"name": name} for name in patch]})
    assert [item["name"] for item in merged["env"]] == order


def test_two_sources_of_one_volume_are_both_kept() -> None:
    """KServe merges them too, and leaves it to the API server to refuse the volume."""
    merged = merge({"volumes": [{"name": "m", "emptyDir": {}}]}, {"volumes": [{"name": "m", "configMap": {}}]})
    assert merged["volumes"] == [{"name": "m", "emptyDir": {}, "configMap": {}}]


def test_merging_leaves_its_inputs_alone() -> None:
    """A runtime is merged with many InferenceServices."""
    base: Manifest = {"env": [{"name": "A", "value": "1"}]}
    merge(base, {"env": [{"name": "A", "value": "2"}]})
    assert base == {"env": [{"name": "A", "value": "1"}]}


@pytest.mark.parametrize(
    "beyond",
    [
        {"spec": {"transformer": {"containers": []}, "predictor": {}}},
        {"spec": {"predictor": {"workerSpec": {"size": 2}}}},
        {"spec": {"predictor": {"model": {"modelFormat": {"name": "x"}, "runtime": ""}}}},
        {"spec": {"predictor": {"model": {"storageUri": "s3://x"}}}},
        {"metadata": {"annotations": {"serving.kserve.io/deploymentMode": "Knative"}}},
        {"metadata": {"annotations": {"serving.kserve.io/autoscalerClass": "keda"}}},
    ],
)
def test_what_it_does_not_cover_it_refuses_by_name(beyond: Manifest) -> None:
    """Nobody takes the stand-in's silence for KServe's behaviour."""
    with pytest.raises(Refused, match="the KServe stand-in does not cover") as refused:
        check_scope(merge(isvc(), beyond))
    assert refused.value.kind is RefusalKind.RECONCILE_FAILED


def test_what_it_covers_it_lets_through() -> None:
    """The InferenceService that the operator renders is covered."""
    check_scope(isvc(minReplicas=1))


def test_a_servingruntime_outweighs_a_clusterservingruntime_of_the_same_name() -> None:
    """A namespace may have its own version of what the cluster offers."""
    spec = {"supportedModelFormats": [{"name": "huggingface"}], "containers": []}
    wide, narrow = (Runtime(name="rt", cluster_scoped=scoped, spec=spec) for scoped in (True, False))
    model = isvc()["spec"]["predictor"]["model"]
    assert resolve(model, [wide, narrow]) is narrow
    assert resolve(model, [wide]) is wide


def test_a_failed_initializer_outweighs_readiness_and_a_failed_server_does_not() -> None:
    """With old pods available KServe calls the model loaded before it looks at the new server container."""
    failed = {"terminated": {"reason": "Error", "exitCode": 1, "message": "no such model"}}
    initializer = {"status": {"initContainerStatuses": [{"name": "storage-initializer", "state": failed}]}}
    server = {"status": {"containerStatuses": [{"name": "kserve-container", "state": failed}]}}
    states = [
        next_model_status({}, [{"metadata": {}, **pod}], ready=True)["states"]["targetModelState"]
        for pod in (initializer, server)
    ]
    assert states == ["FailedToLoad", "Loaded"]


def test_a_failed_initializer_that_runs_again_says_nothing() -> None:
    """KServe writes no status then and looks again in a second."""
    again = {"name": "storage-initializer", "state": {"running": {}}, "lastState": {"terminated": {"exitCode": 1}}}
    with pytest.raises(StillStarting):
        next_model_status({}, [{"metadata": {}, "status": {"initContainerStatuses": [again]}}], ready=False)


def test_a_conditions_time_moves_when_anything_in_it_does() -> None:
    """Not only its status, as the Kubernetes convention has it: the reason is enough."""
    conditions = Conditions.of({}, "t1")
    conditions.initialize()
    for now, reason in (("t2", "A"), ("t3", "A"), ("t4", "B")):
        conditions.now = now
        conditions.mark("PredictorReady", "False", reason)
        if now == "t3":
            assert conditions.found["PredictorReady"]["lastTransitionTime"] == "t2"
    assert conditions.found["PredictorReady"]["lastTransitionTime"] == "t4"
    assert conditions.found["IngressReady"]["lastTransitionTime"] == "t1"


def pod(initializer: str, server: str) -> Manifest:
    """Return a pod whose two containers are in the given states."""
    meta = {"name": "p", "namespace": "rec", "labels": {"serving.kserve.io/inferenceservice": "llama"}}
    status = {"initContainerStatuses": [{"state": initializer}], "containerStatuses": [{"state": server}]}
    return {"kind": "Pod", "metadata": meta, "status": status}


def test_a_server_container_that_crashes_does_not_wake_kserve() -> None:
    """So modelStatus says nothing of a crash until the Deployment's status changes."""
    before = pod("done", "running")
    assert woken(before, pod("done", "crashed"), []) == set()
    assert woken(before, pod("failed", "running"), []) == {("rec", "llama")}
    assert woken(None, before, []) == set()
    assert woken(before, None, []) == set()


def test_a_runtime_wakes_only_by_a_changed_spec() -> None:
    """And only those whose status says that they use it."""
    old = {"kind": "ClusterServingRuntime", "metadata": {"name": "rt"}, "spec": {"containers": []}}
    new = {**old, "spec": {"containers": [{}]}}
    user = {**isvc(), "status": {"clusterServingRuntimeName": "rt"}}
    other = {**isvc(), "metadata": {"name": "other", "namespace": "rec"}, "status": {"servingRuntimeName": "rt"}}
    assert woken(old, new, [user, other]) == {("rec", "llama")}
    assert woken(old, {**old, "metadata": {"name": "rt", "labels": {"a": "b"}}}, [user]) == set()
    assert woken(None, new, [user]) == set()


def test_a_deployment_wakes_its_owner() -> None:
    """Deleted or changed, whatever its labels say."""
    owner = {"kind": "InferenceService", "name": "llama", "controller": True}
    deployment = {"kind": "Deployment", "metadata": {"name": "d", "namespace": "rec", "ownerReferences": [owner]}}
    assert woken(deployment, None, []) == {("rec", "llama")}


def test_an_older_version_does_not_replace_a_newer_one() -> None:
    """A late event must not undo what the answer to our own write told us."""
    world = World()

    def version(number: int, uid: str = "u") -> Manifest:
        meta = {"name": "d", "namespace": "rec", "uid": uid, "resourceVersion": str(number)}
        return {"kind": "Deployment", "metadata": meta}

    world.put(version(10))
    world.put(version(9))
    assert world.find(version(0)) == version(10)
    world.put(version(3, uid="another"))
    assert world.find(version(0)) == version(3, uid="another")
    world.drop(version(10))
    assert world.find(version(0)) is not None
    world.drop(version(3, uid="another"))
    assert world.find(version(0)) is None


async def test_a_key_is_worked_on_by_one_worker_and_again_if_it_changed_meanwhile() -> None:
    """No change is lost and no two workers write one InferenceService."""
    queue, key = Workqueue(), ("rec", "llama")
    queue.add(key)
    queue.add(key)
    assert await queue.take() == key
    queue.add(key)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(queue.take(), 0.01)
    queue.done(key, failed=False)
    assert await asyncio.wait_for(queue.take(), 10) == key


async def test_a_failed_key_comes_back_by_itself() -> None:
    """A runtime that appears later is found by a retry: nothing else wakes KServe then."""
    queue, key = Workqueue(), ("rec", "llama")
    queue.add(key)
    queue.done(await queue.take(), failed=True)
    assert await asyncio.wait_for(queue.take(), 10) == key


def test_kserves_own_crds_win_and_ours_fill_the_gaps(tmp_path: Path) -> None:
    """A folder of KServe's CRDs need not be complete."""
    theirs = {"kind": "CustomResourceDefinition", "metadata": {"name": "inferenceservices.serving.kserve.io"}}
    (tmp_path / "a.yaml").write_text(yaml.safe_dump(theirs))
    chosen = {crd["metadata"]["name"]: crd for crd in crds(tmp_path)}
    assert chosen["inferenceservices.serving.kserve.io"] == theirs
    assert len(chosen) == len(crds(None)) == 6
    (tmp_path / "a.yaml").write_text("")
    with pytest.raises(FileNotFoundError, match="no CustomResourceDefinition"):
        crds(tmp_path)


def test_render_prints_what_the_recording_has(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`make kserve-render` shows the objects as the API server stores them, and the first status."""
    recorded = yaml.safe_load((DATA / "played" / "specdec-recreate.yaml").read_text())
    file = tmp_path / "isvc.yaml"
    file.write_text(yaml.safe_dump(recorded["input"]))
    assert main(["render", str(file), "--runtime", str(DATA / "runtimes.yaml")]) == 0
    *objects, shown = yaml.safe_load_all(capsys.readouterr().out)
    assert objects == recorded["objects"]
    assert shown["status"] == recorded["status"]


def test_render_finds_the_runtimes_of_the_project(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without --runtime the operator's own are used."""
    recorded = yaml.safe_load((DATA / "played" / "specdec-recreate.yaml").read_text())
    recorded["input"]["spec"]["predictor"]["model"]["runtime"] = installed.runtimes()["cpu"]
    file = tmp_path / "isvc.yaml"
    file.write_text(yaml.safe_dump(recorded["input"]))
    assert main(["render", str(file)]) == 0
    assert next(yaml.safe_load_all(capsys.readouterr().out))["kind"] == "Deployment"


def test_render_says_when_a_file_has_no_inference_service(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An empty answer would look like an answer."""
    file = tmp_path / "empty.yaml"
    file.write_text("kind: ConfigMap\n")
    assert main(["render", str(file)]) == 2
    assert "holds no InferenceService" in capsys.readouterr().err
