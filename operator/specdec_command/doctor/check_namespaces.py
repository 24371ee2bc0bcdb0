"""The namespaces of services: PVCs, the pods that are allowed there, and room for one pod more."""

from collections.abc import Iterator
from typing import Final

from specdec_command.doctor.finding import DoctorFinding, finding
from specdec_command.doctor.objects import ExaminedService, engine_of, runtime_of, services
from specdec_command.doctor.snapshot import Snapshot, Space
from specdec_engine.quantity import quantity
from specdec_operator.api.rollout import Strategy
from specdec_operator.display.untrusted import Untrusted

ENFORCE: Final = "pod-security.kubernetes.io/enforce"
_LATE: Final = "WaitForFirstConsumer"


def check(snapshot: Snapshot) -> Iterator[DoctorFinding]:
    """Everything about the namespaces of services."""
    spaces = {each.name: each for each in snapshot.spaces}
    for service in services(snapshot):
        space = spaces.get(service.namespace)
        if space is None or service.spec is None:
            continue
        yield from _claims(service, space, snapshot)
        yield from _security(service, space, snapshot)
        yield from _quota(service, space)


def _claims(service: ExaminedService, space: Space, snapshot: Snapshot) -> Iterator[DoctorFinding]:
    if not space.claims.complete:
        return
    there = {each.of("metadata", "name").text: each for each in space.claims.items}
    for name in service.claims:
        if name not in there:
            near = f"; it has {', '.join(sorted(there)[:5])}" if there else ""
            what = f"service {service.about} names PVC {name}, which does not exist in its namespace{near}"
            yield finding("ClaimMissing", service.about, what, "create the PVC, or correct the pvc:// URI")
    for name in (*service.claims, service.own_claim):
        if name in there and there[name].of("status", "phase").text != "Bound" and not _waits(there[name], snapshot):
            what = f"PVC {space.name}/{name} of service {service.name} is {_phase(there[name])}"
            fix = (
                f"kubectl -n {space.name} describe pvc {name}; set a storage class that provisions volumes, "
                "or create a volume"
            )
            yield finding("ClaimUnbound", f"{space.name}/{name}", what, fix)


def _phase(claim: Untrusted) -> str:
    wanted = claim.of("spec", "storageClassName").text
    return f"{claim.of('status', 'phase').text or 'not bound'} (storage class {wanted or 'none'})"


def _waits(claim: Untrusted, snapshot: Snapshot) -> bool:
    """Whether its storage class binds it only when a pod comes; so it is taken where classes could not be read."""
    if not snapshot.classes.complete:
        return True
    wanted = claim.of("spec", "storageClassName").text
    named = (each for each in snapshot.classes.items if each.of("metadata", "name").text == wanted)
    return any(each.of("volumeBindingMode").text == _LATE for each in named)


def _security(service: ExaminedService, space: Space, snapshot: Snapshot) -> Iterator[DoctorFinding]:
    level = space.itself.body.of("metadata", "labels").strings.get(ENFORCE, "")
    runtime = runtime_of(service, snapshot)
    lacking = _lacking(level, runtime) if runtime is not None else ()
    if lacking:
        what = f"namespace {space.name} enforces {level}, and runtime {service.runtime} lacks {', '.join(lacking)}"
        fix = f"set it in the runtime, or kubectl label --overwrite ns {space.name} {ENFORCE}=baseline"
        yield finding("PodSecurity", service.about, what, fix)


def _lacking(level: str, runtime: Untrusted) -> tuple[str, ...]:
    """What the level requires of a container and this one does not set."""
    if level not in ("baseline", "restricted"):
        return ()
    shared = ("no hostIPC",) if runtime.of("spec", "hostIPC").flag else ()
    context = engine_of(runtime).of("securityContext")
    if level == "baseline":
        return (*shared, *(("no privileged",) if context.of("privileged").flag else ()))
    kept = {
        "allowPrivilegeEscalation: false": context.of("allowPrivilegeEscalation").value is False,
        "runAsNonRoot: true": context.of("runAsNonRoot").flag,
        "capabilities.drop: [ALL]": "ALL" in context.of("capabilities", "drop").texts,
        "seccompProfile: RuntimeDefault": context.of("seccompProfile", "type").text in ("RuntimeDefault", "Localhost"),
    }
    return (*shared, *(setting for setting, is_kept in kept.items() if not is_kept))


def _quota(service: ExaminedService, space: Space) -> Iterator[DoctorFinding]:
    if service.spec is None or service.spec.rollout.strategy is Strategy.REPLACE:
        return
    more = _one_more(service)
    for quota in space.quotas.items:
        if quota.of("spec", "scopes").items or quota.of("spec", "scopeSelector").there:
            continue
        hard, used = quota.of("status", "hard").strings, quota.of("status", "used").strings
        for name, number in more.items():
            most, now = quantity(hard.get(name, "")), quantity(used.get(name, "0")) or 0.0
            if most is not None and now + number > most:
                label = f"{space.name}/{quota.of('metadata', 'name').text}"
                what = f"ResourceQuota {label} has {used.get(name, '0')} of {hard[name]} {name} in use"
                fix = f"raise it, or set spec.rollout.strategy of {service.about} to Replace"
                yield finding("QuotaFull", service.about, what, fix)


def _one_more(service: ExaminedService) -> dict[str, float]:
    """What one more pod takes of a quota, by the quota's names."""
    requests, limits = (service.asks.of(each).strings for each in ("requests", "limits"))
    named = {f"requests.{name}": text for name, text in {**limits, **requests}.items()}
    named |= {name: text for name, text in requests.items() if name in ("cpu", "memory")}
    named |= {f"limits.{name}": text for name, text in limits.items() if "/" not in name}
    return {"pods": 1.0, "count/pods": 1.0, **{name: quantity(text) or 0.0 for name, text in named.items()}}
