"""The runtimes that services name: there, switched on, with an image that nodes can pull."""

from collections.abc import Iterator
from typing import Final

from specdec_operator.api.engine import Accelerator
from specdec_operator.cli.found import Found
from specdec_operator.doctor.finding import Area, Finding, Kind, Severity
from specdec_operator.doctor.picture import Look, Picture
from specdec_operator.doctor.services import Service, services
from specdec_operator.serving.pods import ENGINE_CONTAINER

OURS: Final = tuple(f"specdec-{each.value}" for each in Accelerator)
APPLY: Final = "kubectl apply -k manifests/runtimes, or switch the chart's runtimes on"

MISSING: Final = Kind(
    id="RuntimeMissing",
    area=Area.RUNTIMES,
    severity=Severity.FIX,
    when="a service names, or is given, a runtime that is not there",
    why="KServe makes no pods for the service",
)
DISABLED: Final = Kind(
    id="RuntimeDisabled",
    area=Area.RUNTIMES,
    severity=Severity.FIX,
    when="the runtime of a service is switched off (spec.disabled)",
    why="KServe makes no pods for the service",
)
NO_IMAGE: Final = Kind(
    id="RuntimeWithoutImage",
    area=Area.RUNTIMES,
    severity=Severity.FIX,
    when=f"the runtime's container {ENGINE_CONTAINER} has no image, and the service names none",
    why="its pods are refused",
)
LOCAL_IMAGE: Final = Kind(
    id="RuntimeImageLocal",
    area=Area.RUNTIMES,
    severity=Severity.LOOK,
    when="the image of a service's runtime names no registry",
    why="nodes that were not given the image look for it on Docker Hub, where it is not",
)
NONE: Final = Kind(
    id="NoRuntimes",
    area=Area.RUNTIMES,
    severity=Severity.LOOK,
    when="there is no ClusterServingRuntime of ours, and no service yet",
    why="a service that names no runtime of its own will have none",
)
KINDS: Final = (MISSING, DISABLED, NO_IMAGE, LOCAL_IMAGE, NONE)


def runtime(service: Service, picture: Picture) -> Found | None:
    """The runtime of a service: of its namespace, or else of the cluster. None where there is none."""
    spaces = [space.runtimes for space in picture.spaces if space.name == service.namespace]
    for look in (*spaces, picture.runtimes):
        for each in look.items:
            if each.of("metadata", "name").text == service.runtime:
                return each
    return None


def container(found: Found) -> Found:
    """The container that serves."""
    every = found.of("spec", "containers").items
    return next((each for each in every if each.of("name").text == ENGINE_CONTAINER), Found())


def check(picture: Picture) -> Iterator[Finding]:
    """Everything about runtimes; one finding for each runtime, however many services name it."""
    wanted = [each for each in services(picture) if each.spec is not None]
    told: set[tuple[str, str]] = set()
    for service in wanted:
        for finding in _one(service, picture):
            key = finding.kind.id, finding.about
            if key not in told:
                told.add(key)
                yield finding
    names = {each.of("metadata", "name").text for each in picture.runtimes.items}
    if not wanted and picture.services.complete and _known(picture.runtimes) and not names & {*OURS}:
        yield NONE.found("", f"none of {', '.join(OURS)} is there", APPLY)


def _known(look: Look) -> bool:
    return look.complete and not look.missing


def _one(service: Service, picture: Picture) -> Iterator[Finding]:
    found = runtime(service, picture)
    if found is None:
        here = [each.runtimes for each in picture.spaces if each.name == service.namespace]
        if _known(picture.runtimes) and all(each.complete for each in here):
            what = f"service {service.about} has the runtime {service.runtime}, which is not there"
            fix = APPLY if service.runtime in OURS else "make that runtime, or correct spec.engine.runtime"
            yield MISSING.found(service.runtime, what, fix)
        return
    image = (service.spec.engine.image if service.spec else None) or container(found).of("image").text
    place = found.of("metadata", "namespace").text
    kind, at = ("servingruntime", f" -n {place}") if place else ("clusterservingruntime", "")
    edit = f"kubectl edit {kind} {service.runtime}{at}"
    if found.of("spec", "disabled").flag:
        what = f"runtime {service.runtime} of service {service.about} is switched off"
        yield DISABLED.found(service.runtime, what, f"{edit}: remove spec.disabled")
    if not image:
        what = f"runtime {service.runtime} of service {service.about} has no image in {ENGINE_CONTAINER}"
        yield NO_IMAGE.found(service.runtime, what, f"{edit}, or set spec.engine.image")
    elif "/" not in image:
        what = f"the image of runtime {service.runtime} is {image}"
        yield LOCAL_IMAGE.found(
            service.runtime, what, f"push it to your registry and {edit}, or load it onto every node"
        )
