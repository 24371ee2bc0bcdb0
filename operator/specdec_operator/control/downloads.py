"""Keeps the operator-made claim and its download Jobs: made when they are missing, made anew when that is due.

One Job is at work at a time, and none that the spec does not name any more: two nodes cannot write to one claim, and
each Job sweeps what nobody needs.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from specdec_operator.cluster import Cluster, Manifest
from specdec_operator.control.sis import Sis
from specdec_operator.control.stores import Stores
from specdec_operator.control.wakeups import Key
from specdec_operator.downloads.job import claim_manifest, job_manifest, job_name
from specdec_operator.downloads.view import JobView, Stand, due, job_view, next_attempt, progress
from specdec_operator.downloads.waiting import Fetch
from specdec_operator.errors import Invalid
from specdec_operator.names import ATTEMPT_ANNOTATION, CLAIM_ANNOTATION, FAILED_ANNOTATION, MADE_OF_ANNOTATION
from specdec_operator.serving.arrival import Arrival
from specdec_operator.serving.rollout import Progress, RolloutView
from specdec_operator.staging.kserve import KServe
from specdec_operator.staging.layout import Download, Layout

_UNSEEN: Final = 10.0
"""Seconds that the watch may need to tell of a Job that was just made."""
_OVER: Final = frozenset({"Succeeded", "Failed"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """A Job as it was made last: which one, and when."""

    uid: str
    at: float


@dataclass(slots=True, kw_only=True)
class Downloads:
    """What is remembered of one sis between turns. All of it can be rebuilt.

    claim, claim_uid: the claim as it was applied last. logs: the end of each Job's log.
    """

    made: dict[str, Made] = field(default_factory=dict)
    claim: Manifest | None = None
    claim_uid: str = ""
    logs: dict[str, str] = field(default_factory=dict)


def fetches(key: Key, owner: str, layout: Layout, stores: Stores, memory: Downloads, now: float) -> tuple[Fetch, ...]:
    """Every download that the layout needs, as its Job shows it."""
    return tuple(_fetch(key, job_name(owner, each), each, stores, memory, now) for each in layout.downloads)


def _fetch(key: Key, name: str, download: Download, stores: Stores, memory: Downloads, now: float) -> Fetch:
    body, made = stores.jobs(key).get(name), memory.made.get(name)
    seen = body["metadata"].get("uid") if body else None
    if made is not None and seen != made.uid and now - made.at < _UNSEEN:
        view = JobView(stand=Stand.RUNNING, attempt=1, reason="Starting", message="its Job was just made")
        return Fetch(download=download, view=view)
    notes = body["metadata"].get("annotations", {}) if body else {}
    view = job_view(body, stores.stagers(key))
    if view.stand is Stand.DONE and memory.claim_uid and notes.get(CLAIM_ANNOTATION) != memory.claim_uid:
        view = JobView(stand=Stand.FAILED, reason="ClaimReplaced", message="it was brought into a claim that is gone")
    failed = notes.get(FAILED_ANNOTATION, "")
    return Fetch(download=download, view=view, failed=failed, progress=progress(memory.logs.get(name, "")))


@dataclass(frozen=True, slots=True)
class Downloader:
    """Brings the downloads of one sis on their way."""

    cluster: Cluster
    stores: Stores
    key: Key
    sis: Sis
    layout: Layout
    kserve: KServe
    memory: Downloads

    async def attend(self, arrived: Arrival, rollout: RolloutView, *, staged: bool, now: float) -> None:
        """What is to be done in one turn. staged: whether every download is done. Raises Invalid as keep does."""
        if not staged:
            await self.keep(now)
        elif arrived.reason == "ClaimNotFound":  # somebody deleted it: another claim, and everything anew
            await self.keep_claim(afresh=True)
        elif rollout.progress is Progress.COMPLETE:
            await self.remove_others()

    async def keep(self, now: float) -> None:
        """Makes the claim and the Job that is due, and reads how far the one is that is at work.

        Raises Invalid where no image for it is known, and where the API server refuses the claim or the Job.
        """
        image = _image(self.kserve)
        await self.keep_claim()
        if await self.remove_others() or any(self._strays()):
            return
        found = fetches(self.key, self.sis.owner.name, self.layout, self.stores, self.memory, now)
        waiting = next((each for each in found if not each.done), None)
        if waiting is not None:
            await self._keep(self._job(waiting.download, image), waiting, now)

    async def keep_claim(self, *, afresh: bool = False) -> None:
        """Makes the claim be as the spec says; afresh: also where that was done already."""
        claim = claim_manifest(self.sis.owner, self._written("staging")["claim"])
        if afresh or self.memory.claim != claim:
            live = await self.cluster.apply(claim)
            self.memory.claim, self.memory.claim_uid = claim, live["metadata"]["uid"]

    async def remove_others(self) -> bool:
        """Removes Jobs of artifacts that the spec does not name any more; returns whether there were any."""
        jobs = self.stores.jobs(self.key)
        others = [name for name in jobs if name.rpartition("-")[2] not in self.layout.kept]
        for name in others:
            await self.cluster.remove({"apiVersion": "batch/v1", "kind": "Job", "metadata": jobs[name]["metadata"]})
            self.memory.made.pop(name, None)
        return bool(others)

    def _strays(self) -> Iterator[Mapping[str, Any]]:
        """Pods still at work for Jobs that are gone."""
        known = {body["metadata"].get("uid") for body in self.stores.jobs(self.key).values()}
        known |= {made.uid for made in self.memory.made.values()}
        for pod in self.stores.stagers(self.key):
            owners = {each.get("uid") for each in pod["metadata"].get("ownerReferences", ())}
            if not owners & known and pod["status"].get("phase") not in _OVER:
                yield pod

    async def _keep(self, job: Manifest, fetch: Fetch, now: float) -> None:
        name, notes = job["metadata"]["name"], job["metadata"]["annotations"]
        if fetch.view.reason == "Downloading":
            self.memory.logs[name] = await self._log_end(name)
        made_of = notes[MADE_OF_ANNOTATION]
        if not due(fetch.view, now, made_of=made_of):
            return
        if fetch.view.stand is Stand.MISSING:
            path = f"/apis/batch/v1/namespaces/{self.key[0]}/jobs/{name}"
            if there := await self.cluster.read(path):  # the watch has not told of it yet: this operator just started
                self.stores.note_job(there, deleted=False)
                return
        else:
            await self.cluster.remove(job)
            notes |= {ATTEMPT_ANNOTATION: str(next_attempt(fetch.view, made_of)), FAILED_ANNOTATION: fetch.view.reason}
        live = await self.cluster.apply(job)
        self.memory.made[name] = Made(uid=live["metadata"]["uid"], at=now)

    async def _log_end(self, job: str) -> str:
        pods = [pod for pod in self.stores.stagers(self.key) if _is_of(pod, job)]
        return await self.cluster.log_end(self.key[0], pods[-1]["metadata"]["name"]) if pods else ""

    def _job(self, download: Download, image: str) -> Manifest:
        job = job_manifest(
            self.sis.owner,
            download,
            image=image,
            claim=f"{self.layout.claim}",
            staging=self._written("staging"),
            pod=self._written("pod"),
            keep={*self.layout.kept, *self._served()},
            attempt=1,
        )
        job["metadata"]["annotations"][CLAIM_ANNOTATION] = self.memory.claim_uid
        return job

    def _served(self) -> set[str]:
        """Folders that pods have mounted, of whatever revision: no Job may remove them."""
        return {folder.partition("/")[0] for pod in self.stores.pods(self.key) for folder in pod.folders}

    def _written(self, part: str) -> dict[str, Any]:
        written: dict[str, Any] = self.sis.spec.model_dump(mode="json", by_alias=True, exclude_none=True)
        return dict(written.get(part, {}))


def _is_of(pod: Mapping[str, Any], job: str) -> bool:
    return any(each.get("name") == job for each in pod["metadata"].get("ownerReferences", ()))


def _image(kserve: KServe) -> str:
    if kserve.initializer:
        return kserve.initializer
    raise Invalid(
        "spec.staging.mode",
        "PersistentVolumeClaim",
        "no image for the download is known: KServe's ConfigMap inferenceservice-config (storageInitializer.image) "
        "cannot be read; give the operator SPECDEC_STORAGE_INITIALIZER",
    )
