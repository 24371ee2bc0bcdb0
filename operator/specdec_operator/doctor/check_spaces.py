"""The namespaces of services: claims, the pods that are allowed there, and room for one pod more."""

from collections.abc import Iterator
from typing import Final

from specdec_operator.api.pod import Strategy
from specdec_operator.cli.found import Found
from specdec_operator.doctor.check_runtimes import container, runtime
from specdec_operator.doctor.finding import Area, Finding, Kind, Severity
from specdec_operator.doctor.labels import strings
from specdec_operator.doctor.picture import Picture, Space
from specdec_operator.doctor.quantity import quantity
from specdec_operator.doctor.services import Service, services

ENFORCE: Final = "pod-security.kubernetes.io/enforce"
_LATE: Final = "WaitForFirstConsumer"

CLAIM_MISSING: Final = Kind(
    id="ClaimMissing",
    area=Area.NAMESPACES,
    severity=Severity.FIX,
    when="a service names a claim (pvc://) that its namespace has not",
    why="its pods stay Pending",
)
CLAIM_UNBOUND: Final = Kind(
    id="ClaimUnbound",
    area=Area.NAMESPACES,
    severity=Severity.FIX,
    when="a claim of a service has no volume, and its storage class does not wait for a pod",
    why="its pods stay Pending",
)
REFUSED: Final = Kind(
    id="PodSecurity",
    area=Area.NAMESPACES,
    severity=Severity.FIX,
    when="the namespace enforces a Pod Security level that the runtime's container does not keep",
    why="the API server refuses the pods",
)
NO_ROOM: Final = Kind(
    id="QuotaFull",
    area=Area.NAMESPACES,
    severity=Severity.LOOK,
    when="a ResourceQuota has no room for one pod more of a service",
    why="a rollout that starts a new pod beside the old one stands still",
)
KINDS: Final = (CLAIM_MISSING, CLAIM_UNBOUND, REFUSED, NO_ROOM)


def check(picture: Picture) -> Iterator[Finding]:
    """Everything about the namespaces of services."""
    spaces = {each.name: each for each in picture.spaces}
    for service in services(picture):
        space = spaces.get(service.namespace)
        if space is None or service.spec is None:
            continue
        yield from _claims(service, space, picture)
        yield from _security(service, space, picture)
        yield from _quota(service, space)


def _claims(service: Service, space: Space, picture: Picture) -> Iterator[Finding]:
    if not space.claims.complete:
        return
    there = {each.of("metadata", "name").text: each for each in space.claims.items}
    for name in service.claims:
        if name not in there:
            near = f"; there are {', '.join(sorted(there)[:5])}" if there else ""
            what = f"service {service.about} names claim {name}, which its namespace has not{near}"
            yield CLAIM_MISSING.found(service.about, what, "make the claim, or correct the pvc:// URI")
    for name in (*service.claims, service.own_claim):
        if name in there and there[name].of("status", "phase").text != "Bound" and not _waits(there[name], picture):
            what = f"claim {space.name}/{name} of service {service.name} is {_phase(there[name])}"
            fix = f"kubectl -n {space.name} describe pvc {name}; give it a storage class that provisions, or a volume"
            yield CLAIM_UNBOUND.found(f"{space.name}/{name}", what, fix)


def _phase(claim: Found) -> str:
    wanted = claim.of("spec", "storageClassName").text
    return f"{claim.of('status', 'phase').text or 'not bound'} (storage class {wanted or 'none'})"


def _waits(claim: Found, picture: Picture) -> bool:
    """Whether its storage class binds it only when a pod comes; so it is taken where classes could not be read."""
    if not picture.classes.complete:
        return True
    wanted = claim.of("spec", "storageClassName").text
    found = [each for each in picture.classes.items if each.of("metadata", "name").text == wanted]
    return any(each.of("volumeBindingMode").text == _LATE for each in found)


def _security(service: Service, space: Space, picture: Picture) -> Iterator[Finding]:
    level = strings(space.itself.body.of("metadata", "labels")).get(ENFORCE, "")
    found = runtime(service, picture)
    lacking = _lacking(level, found) if found is not None else ()
    if lacking:
        what = f"namespace {space.name} enforces {level}, and runtime {service.runtime} lacks {', '.join(lacking)}"
        fix = f"set it in the runtime, or kubectl label --overwrite ns {space.name} {ENFORCE}=baseline"
        yield REFUSED.found(service.about, what, fix)


def _lacking(level: str, found: Found) -> tuple[str, ...]:
    """What the level asks of a container and this one does not say."""
    if level not in ("baseline", "restricted"):
        return ()
    shared = ("no hostIPC",) if found.of("spec", "hostIPC").flag else ()
    asked = container(found).of("securityContext")
    if level == "baseline":
        return (*shared, *(("no privileged",) if asked.of("privileged").flag else ()))
    kept = {
        "allowPrivilegeEscalation: false": asked.of("allowPrivilegeEscalation").value is False,
        "runAsNonRoot: true": asked.of("runAsNonRoot").flag,
        "capabilities.drop: [ALL]": "ALL" in asked.of("capabilities", "drop").texts,
        "seccompProfile: RuntimeDefault": asked.of("seccompProfile", "type").text in ("RuntimeDefault", "Localhost"),
    }
    return (*shared, *(words for words, is_kept in kept.items() if not is_kept))


def _quota(service: Service, space: Space) -> Iterator[Finding]:
    if service.spec is None or service.spec.rollout.strategy is Strategy.REPLACE:
        return
    more = _one_more(service)
    for quota in space.quotas.items:
        if quota.of("spec", "scopes").items or quota.of("spec", "scopeSelector").there:
            continue
        hard, used = strings(quota.of("status", "hard")), strings(quota.of("status", "used"))
        for name, number in more.items():
            most, now = quantity(hard.get(name, "")), quantity(used.get(name, "0")) or 0.0
            if most is not None and now + number > most:
                label = f"{space.name}/{quota.of('metadata', 'name').text}"
                what = f"ResourceQuota {label} has {used.get(name, '0')} of {hard[name]} {name} in use"
                fix = f"raise it, or set spec.rollout.strategy of {service.about} to Replace"
                yield NO_ROOM.found(service.about, what, fix)


def _one_more(service: Service) -> dict[str, float]:
    """What one more pod takes of a quota, by the quota's names."""
    found = Found(service.asks)
    requests, limits = strings(found.of("requests")), strings(found.of("limits"))
    named = {f"requests.{name}": text for name, text in {**limits, **requests}.items()}
    named |= {name: text for name, text in requests.items() if name in ("cpu", "memory")}
    named |= {f"limits.{name}": text for name, text in limits.items() if "/" not in name}
    return {"pods": 1.0, "count/pods": 1.0, **{name: quantity(text) or 0.0 for name, text in named.items()}}
