"""What a state asks for: the plan, the manifest that it renders to, and how far its pods and artifacts are. Pure."""

from dataclasses import dataclass, field, replace
from functools import partial
from math import inf
from typing import Final

from specdec_engine.memory.facts import PodFact, used, valid
from specdec_operator.downloads.job import job_name
from specdec_operator.downloads.job_status import (
    DownloadStatus,
    JobState,
    JobView,
    job_view,
    pending_artifacts,
    pending_rollout,
    progress,
    staged_at,
)
from specdec_operator.errors import Invalid
from specdec_operator.guard.rollout import note_progress, want
from specdec_operator.guard.state import Phase, State
from specdec_operator.guest.enforcement import Enforcement
from specdec_operator.guest.view import Guest
from specdec_operator.names import CLAIM_ANNOTATION, FAILED_ANNOTATION
from specdec_operator.observe.artifacts import ArtifactsStatus, artifacts_status
from specdec_operator.observe.ownership import Owned
from specdec_operator.observe.pods import DeploymentView, PodView, serving_pods
from specdec_operator.observe.rollout import RolloutView, asleep, pods_of, view_rollout, waiting_rollout
from specdec_operator.reconcile.deletion import is_let_go, unreferenced
from specdec_operator.reconcile.facts import about, seen_of
from specdec_operator.reconcile.memory import DownloadMemory, ServiceMemory
from specdec_operator.reconcile.observed import Observed
from specdec_operator.reconcile.sis import Sis
from specdec_operator.reconcile.throttle import RolloutRequest
from specdec_operator.render.inference_service import Rendered, render
from specdec_operator.render.plan import ClusterFacts, Plan, plan, refuse
from specdec_operator.staging.kserve import KServe
from specdec_operator.staging.layout import Download

_UNSEEN = 10.0
"""Seconds that the watch may need to show a newly created Job."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Desired:
    """One state and what it requests. kserve: what it was planned for. deployment, pods: those of its revision.

    downloads: those into the operator-made PVC that must finish before its pods are requested.
    request: what its rollout requests from the throttle. waits: why it does not begin yet; empty if it may.
    owned: the service's own objects without an owner reference; they are written to the status before the operator
    acts.
    facts: what the pods reported, with the part that the manifest was planned with. seen: what was planned with.
    guest: the guarded guest; nothing is rendered for it. None: the service serves itself. enforcement: what the guard
    may do about it. look_again: seconds after which it is read again although nothing wakes it.
    """

    state: State
    kserve: KServe
    plan: Plan
    rendered: Rendered
    rollout: RolloutView
    artifacts: ArtifactsStatus
    deployment: DeploymentView | None
    pods: tuple[PodView, ...]
    downloads: tuple[DownloadStatus, ...]
    request: RolloutRequest
    waits: str
    owned: tuple[Owned, ...] = ()
    facts: tuple[PodFact, ...] = ()
    seen: ClusterFacts = field(default_factory=ClusterFacts)
    guest: Guest | None = None
    enforcement: Enforcement = field(default_factory=Enforcement)
    look_again: float = inf

    @property
    def staged(self) -> bool:
        """Whether its artifacts can be mounted."""
        return all(each.done for each in self.downloads)


def drafted_tokens(desired: Desired) -> int:
    """K that the pods draft: that of their flags, unless a decision of the guard asks their dial for fewer."""
    dialled = desired.state.by_dial
    return dialled.tokens if dialled else desired.plan.tokens


def desire(sis: Sis, state: State, observed: Observed, memory: ServiceMemory, now: float) -> Desired:
    """What `state` asks for. Raises Invalid for what cannot run, unless it runs already."""
    owned = unreferenced(sis, observed.look, memory)
    planned, rendered, facts, seen = _planned(sis, state, observed, memory, owned)
    ran_well = state.rollback is not None and state.rollback.good is not None
    if rendered.revision != state.revision and not ran_well:
        refuse(planned)  # what runs already, or ran well, stays, even if a newer rule refuses it
    objects = observed.objects
    pods, deployment = pods_of(rendered.revision, objects.pods), objects.deployment
    deployment = deployment if deployment and deployment.revision == rendered.revision else None
    state = _timed(sis, want(state, rendered.revision, now), deployment, serving_pods(pods), now)
    request = _request(sis, state, observed, memory, rendered.revision)
    waits = observed.ticket.answer(request)
    if memory.waits and not waits and request is not RolloutRequest.NONE:
        state = replace(state, wanted_since=now)  # its deadline counts from the end of the wait
    downloads = tuple(_download(sis, each, observed, memory.downloads, now) for each in planned.layout.downloads)
    return Desired(
        state=state,
        kserve=observed.kserve,
        plan=planned,
        rendered=rendered,
        rollout=waiting_rollout(waits, objects.pods)
        if waits
        else _rollout(sis, state, observed, memory, downloads, now),
        artifacts=pending_artifacts(downloads)
        if staged_at(downloads) is None
        else artifacts_status(planned.layout, deployment, pods, observed.warnings),
        deployment=deployment,
        pods=pods,
        downloads=downloads,
        request=request,
        waits=waits,
        owned=owned,
        facts=facts,
        seen=seen,
    )


_SETTLED: Final = frozenset({Phase.WARMING_UP, Phase.WATCHING, Phase.DIALLED, Phase.ROLLED_BACK, Phase.SERVING})
"""Phases in which pods of the revision may come and go: that is not a rollout, and has no deadline."""


def _timed(sis: Sis, state: State, deployment: DeploymentView | None, up: int, now: float) -> State:
    """With the progress of its rollout. While the autoscaler asks for no pod, no time is lost."""
    if deployment is None:
        return note_progress(state, up, now)
    state = note_progress(state, up, now, deployment.replicas)
    sleeps = sis.spec.autoscaling is not None and asleep(deployment) and state.revision != state.wanted
    return replace(state, wanted_since=now) if sleeps else state


def _planned(
    sis: Sis, state: State, observed: Observed, memory: ServiceMemory, owned: tuple[Owned, ...]
) -> tuple[Plan, Rendered, tuple[PodFact, ...], ClusterFacts]:
    """The plan and its manifest. What pods have reported since the last rollout enters the plan only if other pods are
    due anyway.
    """
    of = about(sis, observed.kserve)
    facts = valid(memory.facts.kept, of)
    deployment = observed.objects.deployment
    seen = replace(
        seen_of(of, facts, memory.facts.configs),
        device=observed.device,
        prepared=deployment is not None and deployment.prepared,
    )
    made = partial(plan, sis.spec, state, name=sis.owner.name, synthetic=sis.synthetic, kserve=observed.kserve)
    replaced = state.control.replicas if state.control and state.control.replaces else 0
    let_go = is_let_go(sis, owned, "InferenceService")
    manifest = partial(render, owner=sis.owner, replacing=state.replacing, let_go=let_go, fewer=replaced)
    planned = made(seen=seen)
    rendered = manifest(planned)
    if rendered.revision != state.wanted and seen.known != seen.shown:
        seen, facts = seen.in_full, used(facts)
        planned = made(seen=seen)
        rendered = manifest(planned)
    return planned, rendered, facts, seen


def _request(sis: Sis, state: State, observed: Observed, memory: ServiceMemory, revision: str) -> RolloutRequest:
    """NONE unless other pods are to replace those that run, and no change of the spec asked for that."""
    child, reported = observed.objects.child, (memory.status or {}).get("observedGeneration")
    if child is None or child.deleted or child.revision == revision or reported != sis.generation:
        return RolloutRequest.NONE
    return RolloutRequest.URGENT if state.phase is Phase.RESPONDING else RolloutRequest.ORDINARY


def _rollout(
    sis: Sis, state: State, observed: Observed, memory: ServiceMemory, downloads: tuple[DownloadStatus, ...], now: float
) -> RolloutView:
    """The progress of the rollout of the revision that `state` wants. It can begin when all downloads are done."""
    objects, scaling = observed.objects, sis.spec.autoscaling
    if (staged := staged_at(downloads)) is None:
        return pending_rollout(downloads, objects.pods)
    there = objects.deployment is not None and objects.deployment.revision == state.wanted
    settled = there and state.revision == state.wanted and state.phase in _SETTLED
    return view_rollout(
        state.wanted or "",
        objects.deployment,
        objects.pods,
        since=now if settled else max(state.wanted_since, staged),
        now=now,
        deadline=sis.spec.rollout.deadline,
        least=scaling.least if scaling else None,
        kserve_error=memory.kserve_error or (objects.child.kserve_error if objects.child else None),
    )


def _download(sis: Sis, download: Download, observed: Observed, memory: DownloadMemory, now: float) -> DownloadStatus:
    """One download, as its Job shows it."""
    name = job_name(sis.owner.name, download)
    body, made = observed.objects.jobs.get(name), memory.jobs.get(name)
    uid = body["metadata"].get("uid") if body else None
    if made is not None and uid != made.uid and now - made.at < _UNSEEN:
        view = JobView(stand=JobState.RUNNING, attempt=1, reason="Starting", message="the Job was created a moment ago")
        return DownloadStatus(download=download, view=view)
    annotations = body["metadata"].get("annotations", {}) if body else {}
    view = job_view(body, observed.objects.stagers)
    if body is None and memory.denied is not None:
        view = replace(view, reason=memory.denied.reason, message=memory.denied.message)
    if view.stand is JobState.DONE and memory.claim_uid and annotations.get(CLAIM_ANNOTATION) != memory.claim_uid:
        gone = "the artifact was downloaded into a PVC that no longer exists"
        view = JobView(stand=JobState.FAILED, reason="ClaimReplaced", message=gone)
    failed, log = annotations.get(FAILED_ANNOTATION, ""), observed.logs.get(name, "")
    return DownloadStatus(download=download, view=view, failed=failed, progress=progress(log))


def download_image(kserve: KServe) -> str:
    """The image of the download Jobs. Raises Invalid where none is known."""
    if kserve.initializer:
        return kserve.initializer
    raise Invalid(
        "spec.staging.mode",
        "PersistentVolumeClaim",
        "the download image is unknown: KServe's ConfigMap inferenceservice-config (storageInitializer.image) cannot "
        "be read; set SPECDEC_STORAGE_INITIALIZER of the operator",
    )
