"""Whether the operator reaches the engines' metrics: what the services say, and what NetworkPolicies let through."""

from collections.abc import Iterator
from typing import Final

from specdec_operator.cli.found import Found
from specdec_operator.doctor.check_services import condition
from specdec_operator.doctor.finding import Area, Finding, Kind, Severity
from specdec_operator.doctor.labels import strings
from specdec_operator.doctor.operators import Operator, operators
from specdec_operator.doctor.picture import Picture, Space
from specdec_operator.doctor.policies import Answer, End, Way, lets, selecting
from specdec_operator.doctor.services import Service, services
from specdec_operator.guard.verdict import Reason
from specdec_operator.names import OWNER_LABEL
from specdec_operator.serving.pods import ENGINE_PORT

UNREAD: Final = Kind(
    id="MetricsUnread",
    area=Area.METRICS,
    severity=Severity.FIX,
    when="a service says that its pods' metrics could not be read (GuardPassing, ScrapeFailed)",
    why="nobody judges its speculation, good or bad",
)
BLOCKED: Final = Kind(
    id="MetricsBlocked",
    area=Area.METRICS,
    severity=Severity.FIX,
    when=f"NetworkPolicies do not let the operator's pods reach port {ENGINE_PORT} of a service's pods",
    why="nobody judges its speculation, good or bad",
)
MAYBE: Final = Kind(
    id="MetricsMayBeBlocked",
    area=Area.METRICS,
    severity=Severity.LOOK,
    when="only an ipBlock of a NetworkPolicy may let the operator's pods through",
    why="the addresses of pods change, and with them whether anybody judges",
)
KINDS: Final = (UNREAD, BLOCKED, MAYBE)


def check(picture: Picture) -> Iterator[Finding]:
    """Everything about reaching the metrics."""
    found, home = operators(picture.operators), picture.home
    for service in services(picture):
        yield from _said(service)
        if service.spec is not None and service.spec.guard.source is not None:
            continue  # a Prometheus is read instead of the pods
        space = next((each for each in picture.spaces if each.name == service.namespace), None)
        if found and home is not None and space is not None and home.itself.complete and space.itself.complete:
            yield from _ends(service, space, home, found[0])


def _said(service: Service) -> Iterator[Finding]:
    passing = condition(service, "GuardPassing")
    if passing.of("status").text == "Unknown" and passing.of("reason").text == Reason.SCRAPE_FAILED.value:
        what = f"service {service.about} says: {passing.of('message').text}"
        fix = f"kubectl -n {service.namespace} get networkpolicies,pods -l {OWNER_LABEL}={service.name} -o wide"
        yield UNREAD.found(service.about, what, fix)


def _ends(service: Service, space: Space, home: Space, operator: Operator) -> Iterator[Finding]:
    scraper = End(
        namespace=home.name, around=strings(home.itself.body.of("metadata", "labels")), labels=operator.labels
    )
    around = strings(space.itself.body.of("metadata", "labels"))
    for pod in _pods(service, space):
        engine = End(namespace=space.name, around=around, labels=strings(pod.of("metadata", "labels")))
        names = _names(pod)
        inwards = selecting(space.policies.items, engine, Way.IN)
        outwards = selecting(home.policies.items, scraper, Way.OUT)
        answer = lets(inwards, scraper, Way.IN, ENGINE_PORT, names, space.name)
        if answer is not Answer.YES and space.policies.complete:
            yield _finding(service, answer, inwards, space.name, _let_in(space, home))
            return
        answer = lets(outwards, engine, Way.OUT, ENGINE_PORT, names, home.name)
        if answer is not Answer.YES and home.policies.complete:
            yield _finding(service, answer, outwards, home.name, f"allow egress to port {ENGINE_PORT} of {space.name}")
            return


def _pods(service: Service, space: Space) -> tuple[Found, ...]:
    """Its pods, or, before there are any, one with the labels that they will have."""
    there = [
        each for each in space.pods.items if strings(each.of("metadata", "labels")).get(OWNER_LABEL) == service.name
    ]
    own = service.spec.pod.labels or {} if service.spec and service.spec.pod else {}
    will = {
        **own,
        OWNER_LABEL: service.name,
        "serving.kserve.io/inferenceservice": service.name,
        "app": f"isvc.{service.name}-predictor",
        "component": "predictor",
    }
    return tuple(there) or (Found({"metadata": {"labels": will}}),)


def _names(pod: Found) -> dict[str, int]:
    ports = (port for each in pod.of("spec", "containers").items for port in each.of("ports").items)
    return {each.of("name").text: each.of("containerPort").whole or 0 for each in ports if each.of("name").text}


def _let_in(space: Space, home: Space) -> str:
    return (
        f"add a NetworkPolicy to {space.name} that lets namespace {home.name} (kubernetes.io/metadata.name) in on TCP "
        f"port {ENGINE_PORT}, or read a Prometheus instead (spec.guard.source.prometheus)"
    )


def _finding(service: Service, answer: Answer, policies: tuple[Found, ...], place: str, fix: str) -> Finding:
    named = ", ".join(each.of("metadata", "name").text for each in policies)
    kind, verb = (MAYBE, "may block") if answer is Answer.MAYBE else (BLOCKED, "block")
    what = f"NetworkPolicies of {place} ({named}) {verb} the way from the operator to the pods of {service.about}"
    return kind.found(service.about, what, fix)
