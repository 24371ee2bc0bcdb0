"""Keeps the operator-made claim and its download Jobs: made when they are missing, made anew when that is due."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from specdec_operator.cluster import Cluster
from specdec_operator.control.sis import Sis
from specdec_operator.control.stores import Stores
from specdec_operator.control.wakeups import Key
from specdec_operator.errors import Invalid
from specdec_operator.staging.fetching import JobView, Stand, due, job_view, next_attempt, progress
from specdec_operator.staging.job import MADE_OF_ANNOTATION, claim_manifest, job_manifest, job_name
from specdec_operator.staging.kserve import KServe
from specdec_operator.staging.layout import Download, Layout
from specdec_operator.staging.waiting import Fetch

FAILED_ANNOTATION: Final = "specdec.io/failed"
"""On a Job that was made anew: why the one before failed."""
_UNSEEN: Final = 10.0
"""Seconds that the watch may need to tell of a Job that was just made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """A Job as it was made last: which one, and when."""

    uid: str
    at: float


@dataclass(slots=True, kw_only=True)
class Downloads:
    """What is remembered of one sis between turns. All of it can be rebuilt."""

    made: dict[str, Made] = field(default_factory=dict)
    claim: Mapping[str, Any] | None = None
    logs: dict[str, str] = field(default_factory=dict)


def fetches(key: Key, owner: str, layout: Layout, stores: Stores, memory: Downloads, now: float) -> tuple[Fetch, ...]:
    """Every download that the layout needs, as its Job shows it."""
    return tuple(_fetch(key, job_name(owner, each), each, stores, memory, now) for each in layout.downloads)


def _fetch(key: Key, name: str, download: Download, stores: Stores, memory: Downloads, now: float) -> Fetch:
    body, made = stores.jobs(key).get(name), memory.made.get(name)
    seen = body["metadata"].get("uid") if body else None
    if made is not None and seen != made.uid and now - made.at < _UNSEEN:
        return Fetch(download=download, view=JobView(stand=Stand.RUNNING, attempt=1, reason="Starting"))
    failed = body["metadata"].get("annotations", {}).get(FAILED_ANNOTATION, "") if body else ""
    view = job_view(body, stores.stagers(key))
    return Fetch(download=download, view=view, failed=failed, progress=progress(memory.logs.get(name, "")))


async def keep_downloading(
    cluster: Cluster, stores: Stores, key: Key, sis: Sis, layout: Layout, kserve: KServe, memory: Downloads, now: float
) -> None:
    """Makes the claim and every Job that is due, and reads how far those are that are at work.

    Raises Invalid where no image for them is known, and where the API server refuses the claim or a Job.
    """
    staging, pod = _written(sis)
    image = _image(kserve)
    claim = claim_manifest(sis.owner, staging["claim"])
    if memory.claim != claim:
        await cluster.apply(claim)
        memory.claim = claim
    for each in fetches(key, sis.owner.name, layout, stores, memory, now):
        job = job_manifest(
            sis.owner,
            each.download,
            image=image,
            claim=claim["metadata"]["name"],
            staging=staging,
            pod=pod,
            keep={*layout.kept, *_served(stores, key)},
            attempt=1,
        )
        await _keep(cluster, stores, job, each, memory, now)
        await _read_progress(cluster, stores, key, job["metadata"]["name"], each, memory)


async def _keep(
    cluster: Cluster, stores: Stores, job: dict[str, Any], fetch: Fetch, memory: Downloads, now: float
) -> None:
    notes = job["metadata"]["annotations"]
    made_of = notes[MADE_OF_ANNOTATION]
    if not due(fetch.view, now, made_of=made_of):
        return
    if fetch.view.stand is Stand.MISSING:
        path = f"/apis/batch/v1/namespaces/{job['metadata']['namespace']}/jobs/{job['metadata']['name']}"
        if there := await cluster.read(path):  # the watch has not told of it yet: an operator that was just started
            stores.note_job(there, deleted=False)
            return
    else:
        await cluster.remove(job)
        notes |= {"specdec.io/attempt": str(next_attempt(fetch.view, made_of)), FAILED_ANNOTATION: fetch.view.reason}
    live = await cluster.apply(job)
    memory.made[job["metadata"]["name"]] = Made(uid=live["metadata"]["uid"], at=now)


async def _read_progress(cluster: Cluster, stores: Stores, key: Key, job: str, fetch: Fetch, memory: Downloads) -> None:
    if fetch.view.reason != "Downloading":
        return
    pods = [pod for pod in stores.stagers(key) if _of_job(pod, job)]
    memory.logs[job] = await cluster.log_end(key[0], pods[-1]["metadata"]["name"]) if pods else ""


async def remove_others(cluster: Cluster, stores: Stores, key: Key, layout: Layout) -> None:
    """Removes Jobs of artifacts that the spec does not name any more."""
    for name, body in stores.jobs(key).items():
        if name.rpartition("-")[2] not in layout.kept and "deletionTimestamp" not in body["metadata"]:
            await cluster.remove({"apiVersion": "batch/v1", "kind": "Job", "metadata": body["metadata"]})


def _of_job(pod: Mapping[str, Any], name: str) -> bool:
    return any(each.get("name") == name for each in pod["metadata"].get("ownerReferences", ()))


def _served(stores: Stores, key: Key) -> set[str]:
    """Folders that pods have mounted, of whatever revision: no Job may remove them."""
    return {folder.partition("/")[0] for pod in stores.pods(key) for folder in pod.folders}


def _written(sis: Sis) -> tuple[dict[str, Any], dict[str, Any]]:
    written = sis.spec.model_dump(mode="json", by_alias=True, exclude_none=True)
    return written.get("staging", {}), written.get("pod", {})


def _image(kserve: KServe) -> str:
    if kserve.initializer:
        return kserve.initializer
    raise Invalid(
        "spec.staging.mode",
        "PersistentVolumeClaim",
        "no image for the download is known: KServe's ConfigMap inferenceservice-config (storageInitializer.image) "
        "cannot be read; give the operator SPECDEC_STORAGE_INITIALIZER",
    )
