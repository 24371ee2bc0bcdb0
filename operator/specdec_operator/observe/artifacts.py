"""Whether the artifacts are where the engine looks for them, and else what keeps them away. Never guesses: no words of
the cluster, no reason.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from specdec_operator.observe.pods import MOST_WORDS, ContainerView, DeploymentView, PodView
from specdec_operator.staging.failure_reasons import meaning
from specdec_operator.staging.layout import Layout

AT_WORK: Final = frozenset({"Staging", "Downloading"})
"""Reasons that ask for patience and for nothing else."""
_BUSY: Final = frozenset({"PodInitializing", "ContainerCreating"})
_IMAGE: Final = frozenset({"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull"})
_CLAIM_MISSING: Final = re.compile(r'persistentvolumeclaim "(?P<claim>[^"]+)" (not found|is being deleted)')
_CLAIM_UNBOUND: Final = re.compile(r"unbound immediate PersistentVolumeClaims|didn't find available persistent volumes")
_SUB_PATH: Final = re.compile(r"subPath|image subpath|failed to mount image volume")
"""The kubelet's and containerd's messages about a folder that a PVC or an image lacks."""
_MOUNTS: Final = frozenset({"FailedMount", "FailedAttachVolume", "FailedMapVolume"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ArtifactsStatus:
    """The condition ArtifactsStaged. status: True, False or Unknown."""

    status: str
    reason: str
    message: str


def artifacts_status(
    layout: Layout, deployment: DeploymentView | None, pods: Iterable[PodView], events: Iterable[Mapping[str, Any]] = ()
) -> ArtifactsStatus:
    """What the pods of one revision show. events: the cluster's warnings about them, where nothing else speaks."""
    pods = tuple(pods)
    if deployment is not None and (dropped := _dropped(layout, deployment)):
        return dropped
    images = {each["image"]["reference"] for each in layout.volumes if "image" in each}
    for pod in pods:
        if trouble := trouble_of(pod) or _image_trouble(pod, images):
            return ArtifactsStatus(status="False", reason=trouble[0], message=trouble[1])
    if _up(deployment) or any(pod.ready or pod.engine.running or pod.engine.ends for pod in pods):
        draft = f", draft at {layout.draft}" if layout.draft else ""
        return ArtifactsStatus(status="True", reason="Staged", message=f"target at {layout.target}{draft}")
    if words := _mount_words(events):
        return ArtifactsStatus(status="False", reason="MountFailed", message=words)
    if words := staging_words(pods):
        return ArtifactsStatus(status="False", reason="Staging", message=words)
    message = "no pod has started to mount or download its artifacts yet"
    return ArtifactsStatus(status="Unknown", reason="NotStarted", message=message)


def is_staging(pod: PodView) -> bool:
    """Whether this pod still downloads its artifacts or pulls its images, without trouble: its engine never started."""
    waiting = {each.waiting for each in (pod.engine, *pod.helpers)} - _BUSY - {None}
    begun = pod.engine.running or pod.engine.ends
    return pod.mounted and not begun and not waiting and trouble_of(pod) is None


def staging_words(pods: Iterable[PodView]) -> str:
    """Which container works before the engine; empty where none does."""
    return next((f"container {each.name} is running" for pod in pods for each in pod.helpers if each.running), "")


def _up(deployment: DeploymentView | None) -> bool:
    """Whether the Deployment has pods of this revision that serve: its event may come before theirs."""
    return deployment is not None and deployment.available > 0 and deployment.total == deployment.updated


def trouble_of(pod: PodView) -> tuple[str, str] | None:
    """What keeps the artifacts of one pod away: a reason and a sentence with the cluster's message."""
    if pod.evicted is not None and "storage" in pod.evicted:
        return "DiskFull", f"pod {pod.name} was evicted: {pod.evicted[:MOST_WORDS]}"
    if pod.pending:
        return _claim_trouble(pod.pending)
    for helper in pod.helpers:
        if trouble := _helper_trouble(pod.name, helper):
            return trouble
    engine = pod.engine
    if engine.waiting and engine.waiting not in _BUSY and _SUB_PATH.search(engine.waiting_words):
        return "FolderNotFound", f"pod {pod.name}: {engine.waiting_words[:MOST_WORDS]}"
    return None


def _image_trouble(pod: PodView, images: Iterable[str]) -> tuple[str, str] | None:
    """Why the image of an image volume does not come: the engine's container waits for it as for its own."""
    engine = pod.engine
    if engine.waiting in _IMAGE and any(each in engine.waiting_words for each in images):
        return "ImagePull", f"pod {pod.name}: {engine.waiting}: {engine.waiting_words[:MOST_WORDS]}"
    return None


def is_idle(pod: PodView) -> bool:
    """Whether a scheduled pod does nothing and its containers do not show why: then the cluster's events do."""
    if pod.pending or pod.ready or pod.deleting or pod.engine.running or pod.engine.ends:
        return False
    return all(not each.running and (each.waiting in _BUSY or each.exit_code == 0) for each in pod.helpers)


def _claim_trouble(pending: str) -> tuple[str, str] | None:
    if missing := _CLAIM_MISSING.search(pending):
        claim = missing["claim"]
        return "ClaimNotFound", f"PVC {claim} is not in this namespace: create it, or correct the pvc:// URI"
    if _CLAIM_UNBOUND.search(pending):
        words = "create one, or use a storage class that provisions it; `kubectl describe pvc` shows which PVC waits"
        return "ClaimNotBound", f"a PVC of the pod has no volume: {words}: {pending[:MOST_WORDS]}"
    return None


def _helper_trouble(pod: str, helper: ContainerView) -> tuple[str, str] | None:
    if helper.waiting in _IMAGE:
        words = f"{helper.waiting}: {helper.waiting_words[:MOST_WORDS]}"
        return "ImagePull", f"pod {pod}, container {helper.name}: {words}"
    if helper.running or not helper.exit_code:
        return None
    if helper.ended == "OOMKilled":
        return "OutOfMemory", f"pod {pod}: container {helper.name} was killed because it reached its memory limit"
    lines = [line.strip() for line in helper.message.splitlines() if line.strip()]  # the last one is not a traceback's
    said = lines[-1][-MOST_WORDS:] if lines else f"exit code {helper.exit_code}, without a log line"
    return meaning(helper.message), f"pod {pod}, container {helper.name}: {said}"


def _dropped(layout: Layout, deployment: DeploymentView) -> ArtifactsStatus | None:
    """The mounts that were asked for and are not in the Deployment that was made of it."""
    wanted = {each["mountPath"] for each in (*layout.mounts, *layout.storage_uris)}
    mounted = tuple(f"{each}/" for each in deployment.mounted)
    missing = sorted(path for path in wanted if not f"{path}/".startswith(mounted))
    if not missing:
        return None
    message = (
        f"the Deployment has no mount for {', '.join(missing)}: KServe or the API server dropped it without an error; "
        "an image volume needs the Kubernetes feature gate ImageVolume, and storageUris need a KServe that supports "
        "the scheme"
    )
    return ArtifactsStatus(status="False", reason="Dropped", message=message)


def _mount_words(events: Iterable[Mapping[str, Any]]) -> str:
    """The newest words about a mount that failed."""
    told = [each for each in events if each.get("reason") in _MOUNTS]
    newest = max(told, key=lambda each: str(each.get("lastTimestamp") or each.get("eventTime") or ""), default=None)
    return str(newest.get("message", ""))[:MOST_WORDS] if newest else ""
