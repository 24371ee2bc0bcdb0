"""What there is of a guest: its engine, its Deployment and its pods, by the names of the services that are served.

Its pods carry none of our labels. What their own engines run shows which of them are equal: a revision is a digest of
image and command line without speculation, and another one of the speculation.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeAlias

from specdec_operator.api.canonical import digest_of
from specdec_operator.api.guest import GuestRef
from specdec_operator.errors import Invalid
from specdec_operator.guest.enforcement import Enforcement
from specdec_operator.guest.flags import GuestEngine
from specdec_operator.observe.pods import ENGINE_PORT, DeploymentView, PodView, deployment_view, pod_view

Body: TypeAlias = Mapping[str, Any]
_PREDICTOR: Final = (None, "predictor")
BASELINE: Final = "plain"
"""The end of a revision without speculation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GuestPods:
    """Where a guest's pods are found. selector: of their labels. deployment: that makes them; empty: whichever does.

    port: of their engine.
    """

    selector: str
    deployment: str = ""
    port: int = ENGINE_PORT


@dataclass(frozen=True, slots=True, kw_only=True)
class GuestPod:
    """A pod of a guest. made: what sorts before it is older."""

    view: PodView
    engine: GuestEngine
    made: tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Guest:
    """What is guarded, as it is. live: the object that is named. engine: of its pods, or of the next ones.

    enforcement: what the guard may do about it if the service asks for that. written: the engine by the flags that the
    guard has taken out; None: nothing is out. trouble: why nothing is known of it; None: it is known.
    """

    ref: GuestRef
    where: GuestPods | None = None
    live: Body = field(default_factory=dict)
    engine: GuestEngine | None = None
    deployment: DeploymentView | None = None
    pods: tuple[PodView, ...] = ()
    enforcement: Enforcement = field(default_factory=Enforcement)
    written: GuestEngine | None = None
    trouble: Invalid | None = None

    @property
    def url(self) -> str | None:
        """The URL at which it answers, from KServe's status."""
        return (self.live.get("status") or {}).get("url")

    @property
    def revision(self) -> str:
        """Of the pods that are asked for."""
        return (self.deployment.revision if self.deployment else None) or ""

    @property
    def base(self) -> str:
        """What its pods run apart from speculation."""
        return base_of(self.engine) if self.engine else ""


def base_of(engine: GuestEngine) -> str:
    """A digest of what an engine runs apart from speculation. A mirror of its image is the same image."""
    image = engine.image.rpartition("/")[2].partition("@")[0]
    return digest_of([image, *engine.baseline])


def revision_of(engine: GuestEngine) -> str:
    """A digest of all that an engine runs."""
    return f"{base_of(engine)}-{digest_of(list(engine.words))[:4] if engine.asks else BASELINE}"


def view(
    ref: GuestRef,
    where: GuestPods,
    live: Body,
    deployment: Body | None,
    asked: GuestEngine | None,
    pods: Sequence[GuestPod],
) -> Guest:
    """A guest by its objects. deployment: None where there is none. asked: the engine of its template. pods: oldest
    first.
    """
    seen = tuple(each.view for each in pods)
    shown = None if deployment is None else _asked(deployment, asked, seen)
    engine = _runs(pods, shown) or asked
    where = replace(where, port=engine.port) if engine else where
    return Guest(ref=ref, where=where, live=live, engine=engine, deployment=shown, pods=seen)


def guest_pod(body: Body, engine: GuestEngine) -> GuestPod:
    """A pod by what its engine asks for."""
    meta = body["metadata"]
    made = str(meta.get("creationTimestamp", "")), str(meta["name"])
    seen = replace(pod_view(body, engine=engine.container), revision=revision_of(engine))
    return GuestPod(view=seen, engine=engine, made=made)


def is_of(pod: Body, deployment: str) -> bool:
    """Whether a pod answers for a guest: a transformer's does not, and one of another Deployment does not."""
    meta = pod["metadata"]
    if (meta.get("labels") or {}).get("component") not in _PREDICTOR:
        return False
    owner = next((each for each in meta.get("ownerReferences") or () if each.get("controller")), None)
    return not deployment or (owner is not None and owner["name"].rpartition("-")[0] == deployment)


def _asked(body: Body, engine: GuestEngine | None, pods: Iterable[PodView]) -> DeploymentView:
    """The Deployment, with the revision that its pods have once all of them are of its newest template.

    What admits pods may have rewritten their images or flags: then they have another digest than the template.
    """
    seen = deployment_view(body)
    named = revision_of(engine) if engine else None
    there = Counter(pod.revision for pod in pods if not pod.deleting)
    whole = seen.observed and seen.updated == seen.total == seen.replicas
    if whole and there and named not in there:
        named = there.most_common(1)[0][0]
    return replace(seen, revision=named)


def _runs(pods: Iterable[GuestPod], deployment: DeploymentView | None) -> GuestEngine | None:
    """The engine of the requested pods; of the newest pod if no Deployment shows which these are."""
    known = [each for each in pods if deployment is None or each.view.revision == deployment.revision]
    return known[-1].engine if known else None
