"""The services: the runtimes that they name, with an image that nodes can pull, and their own conditions."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Final

from specdec_command.doctor.finding import DoctorFinding, finding
from specdec_command.doctor.objects import (
    ExaminedService,
    engine_of,
    guarded,
    operators,
    our_runtime,
    runtime_of,
    services,
)
from specdec_command.doctor.snapshot import QueryAnswer, Snapshot
from specdec_engine.accelerators import Accelerator
from specdec_operator.display.untrusted import Untrusted
from specdec_operator.guard.cache_use import WAYS_OUT, CacheReading, length_fall
from specdec_operator.guard.pods import PodFault
from specdec_operator.guest.liveness import HANG_UNNOTICED
from specdec_operator.observe.pods import ENGINE_CONTAINER

APPLY: Final = "kubectl apply -k manifests/runtimes, or enable the chart's runtimes"
_SOON: Final = timedelta(seconds=60)
"""In which a running operator has looked at a new service."""
_OF_WINDOW: Final = ("used", "drafts", "draftTokens", "acceptedTokens")
_BUSY: Final = frozenset({"Staging", "Downloading"})


def check(snapshot: Snapshot) -> Iterator[DoctorFinding]:
    """Everything about runtimes, one finding for each however many services name it; and the services' conditions."""
    every = services(snapshot)
    of_runtimes: dict[tuple[str, str], DoctorFinding] = {}
    for found in (found for each in every if each.spec is not None for found in _runtime(each, snapshot)):
        of_runtimes.setdefault((found.kind.id, found.about), found)
    yield from of_runtimes.values()
    names = {each.of("metadata", "name").text for each in snapshot.runtimes.items}
    readable = any(each.spec is not None for each in every)
    watched = [name for each in operators(snapshot.operators) for name in each.namespaces or ("",)]
    ours = tuple(dict.fromkeys(name for each in watched or ("",) for name in _ours(each, snapshot)))
    if not readable and snapshot.services.complete and _is_known(snapshot.runtimes) and not names & {*ours}:
        yield finding("NoRuntimes", "", f"none of {', '.join(ours)} exists", APPLY)
    for service in every:
        if service.spec is None:
            what = f"this command cannot read the spec of service {service.about}"
            yield finding("ServiceUnreadable", service.about, what, "use the specdec of the operator's release")
        yield from _observed(service, snapshot)
        yield from _conditions(service)
        yield from _acceptance(service)
    for service in guarded(snapshot):
        yield from _loss(service)
        yield from _hangs(service)


def _ours(namespace: str, snapshot: Snapshot) -> tuple[str, ...]:
    return tuple(our_runtime(each, namespace, snapshot) for each in Accelerator)


def _is_known(answer: QueryAnswer) -> bool:
    return answer.complete and not answer.missing


def _runtime(service: ExaminedService, snapshot: Snapshot) -> Iterator[DoctorFinding]:
    runtime = runtime_of(service, snapshot)
    if runtime is None:
        yield from _missing(service, snapshot)
        return
    image = (service.spec.engine.image if service.spec else None) or engine_of(runtime).of("image").text
    place = runtime.of("metadata", "namespace").text
    kind, option = ("servingruntime", f" -n {place}") if place else ("clusterservingruntime", "")
    edit = f"kubectl edit {kind} {service.runtime}{option}"
    if runtime.of("spec", "disabled").flag:
        what = f"runtime {service.runtime} of service {service.about} is disabled"
        yield finding("RuntimeDisabled", service.runtime, what, f"{edit}: remove spec.disabled")
    if not image:
        what = f"runtime {service.runtime} of service {service.about} has no image in {ENGINE_CONTAINER}"
        yield finding("RuntimeWithoutImage", service.runtime, what, f"{edit}, or set spec.engine.image")
    elif "/" not in image:
        what = f"the image of runtime {service.runtime} is {image}"
        fix = f"push it to your registry and {edit}, or load it onto every node"
        yield finding("RuntimeImageLocal", service.runtime, what, fix)


def _missing(service: ExaminedService, snapshot: Snapshot) -> Iterator[DoctorFinding]:
    here = [each.runtimes for each in snapshot.spaces if each.name == service.namespace]
    if _is_known(snapshot.runtimes) and all(each.complete for each in here):
        what = f"service {service.about} uses runtime {service.runtime}, which does not exist"
        ours = service.runtime in _ours(service.namespace, snapshot)
        fix = APPLY if ours else "create that runtime, or correct spec.engine.runtime"
        yield finding("RuntimeMissing", service.runtime, what, fix)


def _observed(service: ExaminedService, snapshot: Snapshot) -> Iterator[DoctorFinding]:
    meta, status = service.body.of("metadata"), service.body.of("status")
    made, observed = meta.of("creationTimestamp").time, status.of("observedGeneration").whole
    if not status.there or (observed or 0) < 0:
        if made is None or snapshot.now - made > _SOON:
            fix = "read the operator's log; SPECDEC_NAMESPACES may exclude its namespace"
            yield finding("ServiceUnseen", service.about, f"no operator has handled service {service.about}", fix)
    elif observed is not None and observed < (meta.of("generation").whole or 0):
        what = f"service {service.about} is at generation {meta.of('generation').text}, its status at {observed}"
        yield finding("ServiceBehind", service.about, what, f"wait, then {_status(service)}")


def _conditions(service: ExaminedService) -> Iterator[DoctorFinding]:
    stalled, rolled_back = service.condition("Stalled"), service.condition("RolledBack")
    staged = service.condition("ArtifactsStaged")
    if stalled.of("status").text == "True":
        fix = f"fix the problem in its message; {_status(service)}"
        yield finding("ServiceStalled", service.about, _says(service, stalled), fix)
    if rolled_back.of("status").text == "True":
        fix = f"{_status(service)}, then specdec retry {service.name} -n {service.namespace}"
        yield finding("ServiceRolledBack", service.about, _says(service, rolled_back), fix)
    if staged.of("status").text == "False" and staged.of("reason").text not in _BUSY:
        yield finding("ArtifactsNotStaged", service.about, _says(service, staged), _status(service))


def _acceptance(service: ExaminedService) -> Iterator[DoctorFinding]:
    """Whether the acceptance length falls while the KV cache fills, by the windows that the status keeps."""
    kept = service.body.of("status", "memory", "acceptanceByCacheUse").items
    rows = ([each.of(name).number or 0.0 for name in _OF_WINDOW] for each in kept)
    readings = (CacheReading(used=row[0], drafts=row[1], draft_tokens=row[2], accepted_tokens=row[3]) for row in rows)
    if fall := length_fall(readings):
        yield finding("AcceptanceFalls", service.about, f"service {service.about}: {fall.message}", WAYS_OUT)


def _loss(service: ExaminedService) -> Iterator[DoctorFinding]:
    """Whether dips show that the engine is slower with the draft, while the guard would act and may not: mode Observe,
    or a hold.
    """
    status = service.body.of("status")
    high, limit = status.of("performance", "gainHigh").number, status.of("guard", "thresholds", "speedup").number
    if high is None or high >= (1.0 if limit is None else limit) or not status.of("guard", "would").there:
        return
    dips, place = status.of("performance", "dips").text, f"{service.name} -n {service.namespace}"
    what = f"the gain of service {service.about} in its engines is at most {high:.2f} ({dips} dips)"
    fix = (
        f"specdec rollback {place}, or let the guard act: guard.mode Enforce, and specdec release {place} if it is held"
    )
    yield finding("LossObserved", service.about, what, fix)


def _hangs(service: ExaminedService) -> Iterator[DoctorFinding]:
    """Engines that hung within the last day, and a guest in which nothing would notice it."""
    outages = service.body.of("status", "guard", "outages").items
    hangs = [each for each in outages if each.of("reason").text == PodFault.STALLED.value]
    if hangs:
        last = hangs[-1]
        times = f"{len(hangs)} time{'' if len(hangs) == 1 else 's'} within a day"
        what = f"engines of service {service.about} hung {times}, last in pod {last.of('pod').text}"
        fix = f"{_status(service)}, and docs/runbooks/SpecdecEngineHangs.md"
        yield finding("EngineHangs", service.about, what, fix)
    warned = service.condition("Warned").of("message").text
    if HANG_UNNOTICED in warned:
        fix = "add a livenessProbe that generates (docs/runtime.md#the-liveness-probe)"
        yield finding("HangUnnoticed", service.about, f"guest {service.about}: {HANG_UNNOTICED}", fix)


def _says(service: ExaminedService, condition: Untrusted) -> str:
    state = f"{condition.of('type').text}={condition.of('status').text}"
    why = f"{condition.of('reason').text}: {condition.of('message').text.rstrip('.')}"
    return f"service {service.about} is {state}, {why}"


def _status(service: ExaminedService) -> str:
    return f"specdec status {service.name} -n {service.namespace}"
