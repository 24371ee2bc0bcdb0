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
from specdec_operator.guest.dial import dial_revision
from specdec_operator.guest.flags import GuestEngine, engine_of
from specdec_operator.guest.own_flags import OwnFlags
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
class ParsedEngine:
    """An engine. base, revision: digests of what it runs, without speculation and with it."""

    engine: GuestEngine
    base: str
    revision: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GuestPod:
    """A pod of a guest. made: what sorts before it is older."""

    view: PodView
    engine: ParsedEngine
    made: tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Guest:
    """What is guarded, as it is. live: the object that is named. engine: of its pods, or of the next ones.

    base: a digest of what its pods run apart from speculation.

    flags: of an InferenceService. written: the engine by the flags that the guard has taken out; None: nothing is out.
    trouble: why nothing is known of it; None: it is known.
    """

    ref: GuestRef
    where: GuestPods | None = None
    live: Body = field(default_factory=dict)
    engine: GuestEngine | None = None
    base: str = ""
    deployment: DeploymentView | None = None
    pods: tuple[PodView, ...] = ()
    flags: OwnFlags = field(default_factory=OwnFlags)
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


def parsed_engine(pod: Body) -> ParsedEngine | None:
    """The engine of a pod's spec; None where it has no container. A mirror of its image is the same image."""
    engine = engine_of(pod)
    if engine is None:
        return None
    image = engine.image.rpartition("/")[2].partition("@")[0]
    base = digest_of([image, *engine.baseline])
    revision = f"{base}-{digest_of(list(engine.words))[:4] if engine.asks else BASELINE}"
    return ParsedEngine(engine=engine, base=base, revision=revision)


def view(
    ref: GuestRef,
    where: GuestPods,
    live: Body,
    deployment: Body | None,
    asked: ParsedEngine | None,
    pods: Sequence[GuestPod],
) -> Guest:
    """A guest by its objects. deployment: None where there is none. asked: the engine of its template. pods: oldest
    first.
    """
    seen = tuple(each.view for each in pods)
    shown = None if deployment is None else _asked(deployment, asked, seen)
    guest, found = Guest(ref=ref, where=where, live=live, deployment=shown, pods=seen), _runs(pods, shown) or asked
    if found is None:
        return guest
    return replace(guest, where=replace(where, port=found.engine.port), engine=found.engine, base=found.base)


def guest_pod(body: Body, engine: ParsedEngine) -> GuestPod:
    """A pod by what its engine asks for."""
    meta = body["metadata"]
    made = str(meta.get("creationTimestamp", "")), str(meta["name"])
    seen = pod_view(body, engine=engine.engine.container)
    seen = replace(seen, revision=engine.revision, dial_revision=dial_revision(body))
    return GuestPod(view=seen, engine=engine, made=made)


def is_of(pod: Body, deployment: str) -> bool:
    """Whether a pod answers for a guest: a transformer's does not, and one of another Deployment does not."""
    meta = pod["metadata"]
    if (meta.get("labels") or {}).get("component") not in _PREDICTOR:
        return False
    owner = next((each for each in meta.get("ownerReferences") or () if each.get("controller")), None)
    return not deployment or (owner is not None and owner["name"].rpartition("-")[0] == deployment)


def _asked(body: Body, engine: ParsedEngine | None, pods: Iterable[PodView]) -> DeploymentView:
    """The Deployment, with the revision that its pods have once all of them are of its newest template.

    What admits pods may have rewritten their images or flags: then they have another digest than the template.
    """
    seen = deployment_view(body)
    named = engine.revision if engine else None
    there = Counter(pod.revision for pod in pods if not pod.deleting)
    whole = seen.observed and seen.updated == seen.total == seen.replicas
    if whole and there and named not in there:
        named = there.most_common(1)[0][0]
    return replace(seen, revision=named)


def _runs(pods: Iterable[GuestPod], deployment: DeploymentView | None) -> ParsedEngine | None:
    """The engine of the requested pods; of the newest pod if no Deployment shows which these are."""
    known = [each for each in pods if deployment is None or each.view.revision == deployment.revision]
    return known[-1].engine if known else None
