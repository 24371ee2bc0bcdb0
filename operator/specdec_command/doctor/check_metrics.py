"""Whether the operator reaches the engines' metrics: what the services report, and what NetworkPolicies let through."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum, StrEnum

from specdec_command.doctor.finding import DoctorFinding, finding
from specdec_command.doctor.objects import ExaminedService, Operator, first_operator, services
from specdec_command.doctor.snapshot import Home, Snapshot, Space
from specdec_operator.display.untrusted import Untrusted
from specdec_operator.guard.verdict import Reason
from specdec_operator.names import OWNER_LABEL
from specdec_operator.observe.pods import ENGINE_PORT


class Direction(StrEnum):
    """Which end's policies are asked: what comes in, or what goes out."""

    IN = "Ingress"
    OUT = "Egress"


class Passage(IntEnum):
    """The larger, the surer. MAYBE: only an ipBlock may let it through, and addresses of pods come and go."""

    NO = 0
    MAYBE = 1
    YES = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """One end of a connection: a pod's labels, its namespace and that namespace's labels."""

    namespace: str
    around: Mapping[str, str]
    labels: Mapping[str, str]


def check(snapshot: Snapshot) -> Iterator[DoctorFinding]:
    """Everything about reaching the metrics."""
    operator, home = first_operator(snapshot.operators), snapshot.home
    for service in services(snapshot):
        yield from _unread(service)
        if service.spec is not None and not service.spec.guard.reads_pods:
            continue  # a Prometheus is read instead of the pods
        space = next((each for each in snapshot.spaces if each.name == service.namespace), None)
        if operator and home and space and home.itself.complete and space.itself.complete:
            yield from _blocked(service, space, home, operator)


def _unread(service: ExaminedService) -> Iterator[DoctorFinding]:
    passing = service.condition("GuardPassing")
    if passing.of("status").text == "Unknown" and passing.of("reason").text == Reason.SCRAPE_FAILED.value:
        what = f"service {service.about} reports: {passing.of('message').text}"
        fix = f"kubectl -n {service.namespace} get networkpolicies,pods -l {OWNER_LABEL}={service.name} -o wide"
        yield finding("MetricsUnread", service.about, what, fix)


def _blocked(service: ExaminedService, space: Space, home: Home, operator: Operator) -> Iterator[DoctorFinding]:
    scraper, port = _endpoint(home, operator.labels), _metrics_port(service)
    let_in = (
        f"add a NetworkPolicy to {space.name} that admits namespace {home.name} (kubernetes.io/metadata.name) on TCP "
        f"port {port}, or read from Prometheus instead (spec.guard.source.prometheus)"
    )
    let_out = f"allow egress to port {port} of {space.name}"
    for pod in _pods(service, space):
        engine = _endpoint(space, pod.of("metadata", "labels").strings)
        ways = ((Direction.IN, space, engine, scraper, let_in), (Direction.OUT, home, scraper, engine, let_out))
        for direction, place, end, other, fix in ways:
            policies = selecting(place.policies.items, end, direction)
            passage = lets(policies, other, direction, port, _names(pod), place.name)
            if passage is not Passage.YES and place.policies.complete:
                yield _finding(service, passage, policies, place.name, fix)
                return


def _metrics_port(service: ExaminedService) -> int:
    """The port at which the operator reads the pods of a service."""
    spec = service.spec
    how = spec.guard.source.pods if spec and spec.guard.source else None
    return (how.port if how else None) or (spec.engine.port if spec else None) or ENGINE_PORT


def _endpoint(space: Home, labels: Mapping[str, str]) -> Endpoint:
    return Endpoint(namespace=space.name, around=space.itself.body.of("metadata", "labels").strings, labels=labels)


def _pods(service: ExaminedService, space: Space) -> tuple[Untrusted, ...]:
    """Its pods, or, before there are any, one with the labels that they will have."""
    there = [
        each for each in space.pods.items if each.of("metadata", "labels").strings.get(OWNER_LABEL) == service.name
    ]
    own = service.spec.pod.labels or {} if service.spec and service.spec.pod else {}
    will = {
        **own,
        OWNER_LABEL: service.name,
        "serving.kserve.io/inferenceservice": service.name,
        "app": f"isvc.{service.name}-predictor",
        "component": "predictor",
    }
    return tuple(there) or (Untrusted({"metadata": {"labels": will}}),)


def _names(pod: Untrusted) -> dict[str, int]:
    ports = (port for each in pod.of("spec", "containers").items for port in each.of("ports").items)
    return {each.of("name").text: each.of("containerPort").whole or 0 for each in ports if each.of("name").text}


def _finding(
    service: ExaminedService, passage: Passage, policies: tuple[Untrusted, ...], place: str, fix: str
) -> DoctorFinding:
    named = ", ".join(each.of("metadata", "name").text for each in policies)
    kind, verb = ("MetricsMayBeBlocked", "may block") if passage is Passage.MAYBE else ("MetricsBlocked", "block")
    what = f"NetworkPolicies of {place} ({named}) {verb} traffic from the operator to the pods of {service.about}"
    return finding(kind, service.about, what, fix)


def selecting(policies: tuple[Untrusted, ...], end: Endpoint, direction: Direction) -> tuple[Untrusted, ...]:
    """The policies of its namespace that are about this pod and this way."""
    return tuple(
        each for each in policies if _is_about(each, direction) and chooses(each.of("spec", "podSelector"), end.labels)
    )


def lets(
    policies: tuple[Untrusted, ...],
    other: Endpoint,
    direction: Direction,
    port: int,
    names: Mapping[str, int],
    own: str,
) -> Passage:
    """Whether policies that select a pod, all together, let the other end through.

    names: the serving pod's ports by name. own: the namespace of the policies. No policy at all lets everybody.
    """
    if not policies:
        return Passage.YES
    rules = [rule for each in policies for rule in each.of("spec", direction.lower()).items]
    return max((_rule(rule, other, direction, own) for rule in rules if _port(rule, port, names)), default=Passage.NO)


def _is_about(policy: Untrusted, direction: Direction) -> bool:
    """Without policyTypes a policy is about what comes in, and about what goes out where it has such rules."""
    types = policy.of("spec", "policyTypes").texts
    if types:
        return direction in types
    return direction is Direction.IN or bool(policy.of("spec", "egress").items)


def _rule(rule: Untrusted, other: Endpoint, direction: Direction, own: str) -> Passage:
    peers = rule.of("from" if direction is Direction.IN else "to").items
    return max((_peer(each, other, own) for each in peers), default=Passage.YES)


def _peer(peer: Untrusted, other: Endpoint, own: str) -> Passage:
    if peer.of("ipBlock").there:
        return Passage.MAYBE
    spaces, pods = peer.of("namespaceSelector"), peer.of("podSelector")
    near = chooses(spaces, other.around) if isinstance(spaces.value, Mapping) else other.namespace == own
    return Passage.YES if near and chooses(pods, other.labels) else Passage.NO


def _port(rule: Untrusted, port: int, names: Mapping[str, int]) -> bool:
    listed = rule.of("ports").items
    return not listed or any(_is_port(each, port, names) for each in listed)


def _is_port(listed: Untrusted, port: int, names: Mapping[str, int]) -> bool:
    if listed.of("protocol").text not in ("", "TCP"):
        return False
    first, last = listed.of("port"), listed.of("endPort").whole
    if isinstance(first.value, str):
        return names.get(first.value) == port
    low = first.whole
    return low is None or low <= port <= (last or low)


def chooses(selector: Untrusted, labels: Mapping[str, str]) -> bool:
    """Whether a label selector chooses these labels; an empty one chooses all."""
    wanted = selector.of("matchLabels").strings
    if any(labels.get(key) != value for key, value in wanted.items()):
        return False
    return all(_holds(each, labels) for each in selector.of("matchExpressions").items)


def _holds(expression: Untrusted, labels: Mapping[str, str]) -> bool:
    key, values = expression.of("key").text, expression.of("values").texts
    match expression.of("operator").text:
        case "In":
            return labels.get(key) in values
        case "NotIn":
            return labels.get(key) not in values
        case "Exists":
            return key in labels
        case "DoesNotExist":
            return key not in labels
    return False
