"""Every way in which target and draft reach the pods, on real parts: each ends with vLLM drafting, or with a reason."""

import asyncio

import pytest

from tests.node import processes, s3
from tests.node.artifacts import ACCOUNT, STRANGER, Modelcars, job_environment, provide
from tests.node.service import Service, Traffic
from tests.wire.api import POD, Api, Object, Refused

PULLER = {"serviceAccountName": ACCOUNT}


def draft(**where: str) -> Object:
    """Speculation with a draft that lies there."""
    return {"method": "draft_model", "tokens": 4, "draft": where}


async def test_target_and_draft_from_two_modelcars(service: Service, cars: Modelcars) -> None:
    """Two sidecars lend their files; KServe's shipped user 1010 reads them, and the engine runs as that user."""
    await service.apply(draft(uri=f"oci://{cars.draft}"), {"model": {"uri": f"oci://{cars.target}"}})
    await service.drafts()
    (pod,) = await service.api.items(POD, service.namespace)
    users = {each["name"]: each.get("securityContext", {}).get("runAsUser") for each in pod["spec"]["containers"]}
    assert len(users) == 3
    assert len(set(users.values())) == 1


async def test_target_and_draft_from_one_modelcar(service: Service, cars: Modelcars) -> None:
    """Two folders of one image, and one sidecar."""
    await service.apply(draft(path="draft"), {"model": {"uri": f"oci://{cars.pair}", "path": "target"}})
    await service.drafts()
    assert len((await service.child())["storageUris"]) == 1


async def test_target_and_draft_from_s3(service: Service, store: s3.Store) -> None:
    """One download container fetches both, with the credentials of the pod's account."""
    before = s3.requests("GET")
    await service.apply(draft(uri="s3://models/draft/"), {"model": {"uri": "s3://models/target/"}, "pod": PULLER})
    await service.drafts()
    assert s3.requests("GET") - before == _files("target", "draft")


async def test_a_download_beyond_the_deadline_takes_no_speculation_out(service: Service, store: s3.Store) -> None:
    """No engine has loaded the draft: the service is Stalled, and once the files come it has the whole deadline."""
    (stored,) = await service.api.items(POD, s3.NAMESPACE)
    rollout = {"strategy": "Replace", "deadline": "60s"}
    parts = {"model": {"uri": "s3://models/target/"}, "pod": PULLER, "rollout": rollout}
    with processes.suspended(stored):
        await service.apply(draft(uri="s3://models/draft/"), parts)
        stalled = await service.condition("Stalled", "Staging", seconds=120)
    assert stalled["message"].endswith("; container storage-initializer is running")
    status = await service.drafts()
    assert (status["guard"]["rollbacks"], "rollback" in status["guard"]) == (0, False)


async def test_target_from_a_pvc_and_draft_from_s3(service: Service, store: s3.Store) -> None:
    """The pod has a mount of the user's PVC and a download."""
    before = s3.requests("GET", "target/"), s3.requests("GET", "draft/")
    await service.apply(draft(uri="s3://models/draft/"), {"pod": PULLER})
    await service.drafts()
    assert (s3.requests("GET", "target/"), s3.requests("GET", "draft/")) == (before[0], before[1] + _files("draft"))


async def test_the_content_of_the_operators_pvc_is_downloaded_once(service: Service, store: s3.Store) -> None:
    """Not again by pods that start, and not by a rollback; all of it goes with the sis."""
    wanted = await asyncio.to_thread(provide, f"{service.name}-models", service.namespace)
    claim = {"storage": "1Gi"} | ({"storageClassName": wanted} if wanted else {})
    staging = {"mode": "PersistentVolumeClaim", "claim": claim, "env": job_environment(store)}
    before = s3.requests("GET")
    parts = {"model": {"uri": "s3://models/target/"}, "staging": staging}
    await service.apply(draft(uri="s3://models/draft/"), parts)
    await service.drafts()
    downloaded = s3.requests("GET") - before
    assert downloaded == _files("target", "draft")
    mounts = (await service.child())["model"]["volumeMounts"]
    async with Traffic(service, "drift"):
        await service.phase("Responding", "RolledBack", seconds=60)
    await service.phase("RolledBack")
    assert (await service.ask(service.prompt("drift", 0)))["usage"]["completion_tokens"] > 0
    kept = (await service.child())["model"]["volumeMounts"]
    assert [each for each in kept if each in mounts] == kept
    assert s3.requests("GET") - before == downloaded
    await service.remove()
    assert f"{service.name}-models" not in await _claims(service)


async def test_an_image_volume_that_the_api_server_drops_is_noticed(service: Service, cars: Modelcars) -> None:
    """The API server drops the Deployment's volume and mount without an error. Only the operator reports it."""
    if await image_volumes(service.api):
        pytest.skip("this API server keeps image volumes")
    await service.apply(None, {"model": {"uri": f"oci+native://{cars.target}"}})
    said = await service.condition("ArtifactsStaged", "Dropped")
    assert said["status"] == "False"
    assert "/mnt/target/model" in said["message"]
    assert "ImageVolume" in said["message"]


async def test_target_and_draft_from_image_volumes(service: Service, cars: Modelcars) -> None:
    """The kubelet mounts the images by itself."""
    if not await image_volumes(service.api):
        pytest.skip("this API server drops image volumes: its feature gate ImageVolume is off")
    await service.apply(draft(uri=f"oci+native://{cars.draft}"), {"model": {"uri": f"oci+native://{cars.target}"}})
    await service.drafts()


async def test_the_reason_for_a_missing_artifact_is_shown_within_seconds(service: Service, store: s3.Store) -> None:
    """A missing key, refused keys, a PVC and an image that do not exist: four sis at once."""
    cases = {
        "no-such-key": ({"model": {"uri": "s3://models/nothing/"}, "pod": PULLER}, "NotFound", "No model found"),
        "wrong-keys": (
            {"model": {"uri": "s3://models/target/"}, "pod": {"serviceAccountName": STRANGER}},
            "Unauthorized",
            "403",
        ),
        "no-such-claim": ({"model": {"uri": "pvc://absent/target"}}, "ClaimNotFound", "absent"),
        "no-such-image": ({"model": {"uri": "oci://localhost/absent:1"}}, "ImagePull", "localhost/absent:1"),
    }

    async def said(name: str, parts: Object, reason: str, words: str) -> None:
        one = service.sibling(name)
        await one.apply(None, parts)
        condition = await one.condition("ArtifactsStaged", reason, seconds=60)
        assert condition["status"] == "False"
        assert words in condition["message"]

    async with asyncio.TaskGroup() as all_at_once:
        for name, (parts, reason, words) in cases.items():
            all_at_once.create_task(said(name, parts, reason, words))


async def test_a_download_job_shows_why_it_cannot_work(service: Service, store: s3.Store) -> None:
    """A missing key, and a PVC that no provisioner gives a volume."""
    name = "no-such-key"
    wanted = await asyncio.to_thread(provide, f"{name}-models", service.namespace)
    claims = {name: {"storage": "1Gi"} | ({"storageClassName": wanted} if wanted else {})}
    claims["no-volume"] = {"storage": "1Gi", "storageClassName": "nobody-has-this-class"}
    for each, claim in claims.items():
        staging = {"mode": "PersistentVolumeClaim", "claim": claim, "env": job_environment(store)}
        await service.sibling(each).apply(None, {"model": {"uri": "s3://models/nothing/"}, "staging": staging})
    missing = await service.sibling(name).condition("ArtifactsStaged", "NotFound", seconds=60)
    assert "s3://models/nothing" in missing["message"]
    unbound = await service.sibling("no-volume").condition("ArtifactsStaged", "ClaimNotBound", seconds=60)
    assert unbound["status"] == "False"


async def image_volumes(api: Api) -> bool:
    """Whether the API server keeps an image volume, by a pod that is never made."""
    volume = {"name": "model", "image": {"reference": "localhost/absent:1", "pullPolicy": "Never"}}
    container = {"name": "one", "image": "localhost/absent:1", "volumeMounts": [{"name": "model", "mountPath": "/m"}]}
    body = {"metadata": {"name": "probe"}, "spec": {"containers": [container], "volumes": [volume]}}
    try:
        made = await api.call("post", api.path(POD, "default"), body, dry_run="All")
    except Refused:  # an API server from before image volumes
        return False
    return any("image" in each for each in made["spec"]["volumes"])


def _files(*models: str) -> int:
    """How many files the tiny models have."""
    return 5 * len(models)


async def _claims(service: Service) -> set[str]:
    found = await service.api.items(("v1", "persistentvolumeclaims"), service.namespace)
    return {each["metadata"]["name"] for each in found if "deletionTimestamp" not in each["metadata"]}
