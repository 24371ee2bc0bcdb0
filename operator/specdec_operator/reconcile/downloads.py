"""Keeps the operator-made PVC and its download Jobs: creates missing ones, and creates them again when that is due.

Only one Job works at a time, and none for an artifact that is no longer in the spec: two nodes cannot write to one PVC,
and each Job deletes the folders that no pod and no download needs.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from specdec_operator.downloads.job import claim_manifest, job_manifest
from specdec_operator.downloads.job_status import DownloadStatus, JobState, due, next_attempt
from specdec_operator.errors import Unavailable
from specdec_operator.kube.cluster import Cluster
from specdec_operator.kube.request import Manifest
from specdec_operator.names import ATTEMPT_ANNOTATION, CLAIM_ANNOTATION, FAILED_ANNOTATION, MADE_OF_ANNOTATION
from specdec_operator.observe.inference_service import KServeError
from specdec_operator.observe.ownership import Claimant, Standing, look_at
from specdec_operator.observe.rollout import Progress
from specdec_operator.observe.store import OwnedObjects
from specdec_operator.reconcile.deletion import is_let_go
from specdec_operator.reconcile.desired import Desired, download_image
from specdec_operator.reconcile.memory import DownloadMemory, MadeJob
from specdec_operator.reconcile.own import adoption, write_own
from specdec_operator.reconcile.sis import Sis

_OVER: Final = frozenset({"Succeeded", "Failed"})


async def keep_downloads(
    cluster: Cluster, sis: Sis, desired: Desired, objects: OwnedObjects, memory: DownloadMemory, now: float
) -> DownloadMemory:
    """What is to be done about the PVC and its Jobs in one reconcile.

    Raises Invalid if the API server refuses the PVC or a Job. Raises Unavailable if it does not answer or a permission
    is missing, but not at the first failure, so that the status shows the failure before the next try.
    """
    try:
        return replace(await _keep(cluster, sis, desired, objects, memory, now), denied=None)
    except Unavailable as error:
        denied = KServeError(reason=error.reason, message=error.message)
        if memory.denied == denied:
            raise
        return replace(memory, denied=denied)


async def _keep(
    cluster: Cluster, sis: Sis, desired: Desired, objects: OwnedObjects, memory: DownloadMemory, now: float
) -> DownloadMemory:
    if desired.plan.layout.claim is None:
        return memory
    downloads = _Downloads(cluster=cluster, sis=sis, desired=desired, objects=objects)
    if not desired.staged:
        return await downloads.advance(memory, now)
    if desired.artifacts.reason == "ClaimNotFound":  # another client deleted it: another PVC, and all downloads again
        return await downloads.keep_claim(replace(memory, claim=None))
    memory = await downloads.keep_policy(memory)
    if desired.rollout.progress is Progress.COMPLETE:
        _, memory = await downloads.remove_others(memory)
    return memory


@dataclass(frozen=True, slots=True, kw_only=True)
class _Downloads:
    """The downloads of one service in one reconcile."""

    cluster: Cluster
    sis: Sis
    desired: Desired
    objects: OwnedObjects

    async def advance(self, memory: DownloadMemory, now: float) -> DownloadMemory:
        """Creates the PVC, and the Job that is due."""
        memory = await self.keep_claim(memory)
        if memory.adopted:  # reported before anything else can go wrong
            return memory
        removed, memory = await self.remove_others(memory)
        if removed or any(self._strays(memory)):
            return memory
        waiting = next((each for each in self.desired.downloads if not each.done), None)
        return memory if waiting is None else await self._keep_job(waiting, memory, now)

    async def keep_claim(self, memory: DownloadMemory) -> DownloadMemory:
        """Creates the PVC, or changes it so that it matches the spec."""
        claim = claim_manifest(self.sis.owner, self._written("staging")["claim"], let_go=self._let_go)
        if memory.claim == claim:
            return memory
        claimant = self._claimant(memory)
        look = look_at(await self.cluster.find(claim), claimant)
        live = await write_own(self.cluster, claim, claimant, look)
        told = adoption(claim["kind"], claim["metadata"]["name"], look, claimant)
        return replace(
            memory,
            claim=claim,
            claim_uid=live["metadata"]["uid"],
            let_go=self._let_go,
            adopted=(*memory.adopted, *([told] if told else ())),
        )

    async def keep_policy(self, memory: DownloadMemory) -> DownloadMemory:
        """Sets whether the PVC in use is deleted with its service. Changes nothing else of it."""
        if memory.let_go is self._let_go:
            return memory
        claim = claim_manifest(self.sis.owner, self._written("staging")["claim"], let_go=self._let_go)
        look = look_at(await self.cluster.find(claim), self._claimant(memory))
        if look.standing is Standing.FREE:
            return memory
        if look.standing is Standing.OURS and (look.controller is None) is self._let_go:
            return replace(memory, claim_uid=look.uid, let_go=self._let_go)
        return await self.keep_claim(replace(memory, claim=None))

    async def remove_others(self, memory: DownloadMemory) -> tuple[bool, DownloadMemory]:
        """Removes Jobs of artifacts that the spec does not name any more; returns whether there were any."""
        jobs, kept = self.objects.jobs, self.desired.plan.layout.kept
        others = [name for name in jobs if name.rpartition("-")[2] not in kept]
        for name in others:
            await self.cluster.remove({"apiVersion": "batch/v1", "kind": "Job", "metadata": jobs[name]["metadata"]})
        made = {name: job for name, job in memory.jobs.items() if name not in others}
        return bool(others), replace(memory, jobs=made)

    @property
    def _let_go(self) -> bool:
        """Whether the PVC stays when the service is deleted."""
        return is_let_go(self.sis, self.desired.owned, "PersistentVolumeClaim")

    def _claimant(self, memory: DownloadMemory) -> Claimant:
        noted = {each.uid for each in self.desired.owned} | {memory.claim_uid} - {""}
        return replace(self.sis.claimant, noted=frozenset(noted))

    def _strays(self, memory: DownloadMemory) -> Iterator[Mapping[str, Any]]:
        """Pods still at work for Jobs that are gone."""
        uids = {body["metadata"].get("uid") for body in self.objects.jobs.values()}
        uids |= {made.uid for made in memory.jobs.values()}
        for pod in self.objects.stagers:
            owners = {each.get("uid") for each in pod["metadata"].get("ownerReferences", ())}
            if not owners & uids and pod["status"].get("phase") not in _OVER:
                yield pod

    async def _keep_job(self, waiting: DownloadStatus, memory: DownloadMemory, now: float) -> DownloadMemory:
        job = self._job(waiting, memory)
        name, annotations = job["metadata"]["name"], job["metadata"]["annotations"]
        made_of = annotations[MADE_OF_ANNOTATION]
        if not due(waiting.view, now, made_of=made_of):
            return memory
        if waiting.view.stand is not JobState.MISSING:
            await self.cluster.remove({**job, "metadata": self.objects.jobs[name]["metadata"]})
            attempt = str(next_attempt(waiting.view, made_of))
            annotations |= {ATTEMPT_ANNOTATION: attempt, FAILED_ANNOTATION: waiting.view.reason}
        live = await write_own(self.cluster, job, self._claimant(memory))
        return replace(memory, jobs={**memory.jobs, name: MadeJob(uid=live["metadata"]["uid"], at=now)})

    def _job(self, waiting: DownloadStatus, memory: DownloadMemory) -> Manifest:
        layout = self.desired.plan.layout
        job = job_manifest(
            self.sis.owner,
            waiting.download,
            image=download_image(self.desired.kserve),
            claim=f"{layout.claim}",
            staging=self._written("staging"),
            pod=self._written("pod"),
            keep={*layout.kept, *self._served()},
            attempt=1,
        )
        job["metadata"]["annotations"][CLAIM_ANNOTATION] = memory.claim_uid
        return job

    def _served(self) -> set[str]:
        """Folders that pods have mounted, of whatever revision: no Job may remove them."""
        return {folder.partition("/")[0] for pod in self.objects.pods for folder in pod.folders}

    def _written(self, part: str) -> dict[str, Any]:
        written: dict[str, Any] = self.sis.spec.model_dump(mode="json", by_alias=True, exclude_none=True)
        return dict(written.get(part, {}))
