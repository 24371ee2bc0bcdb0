"""The services themselves: what their own conditions say is wrong."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Final

from specdec_operator.cli.found import Found
from specdec_operator.doctor.finding import Area, Finding, Kind, Severity
from specdec_operator.doctor.picture import Picture
from specdec_operator.doctor.services import Service, services

_SOON: Final = timedelta(seconds=60)
"""In which a running operator has looked at a new service."""

UNSEEN: Final = Kind(
    id="ServiceUnseen",
    area=Area.SERVICES,
    severity=Severity.FIX,
    when="a service has had no status for a minute",
    why="no operator acts on it",
)
BEHIND: Final = Kind(
    id="ServiceBehind",
    area=Area.SERVICES,
    severity=Severity.LOOK,
    when="the status is about an older spec",
    why="the newest spec is not acted on yet",
)
UNREADABLE: Final = Kind(
    id="ServiceUnreadable",
    area=Area.SERVICES,
    severity=Severity.LOOK,
    when="this command cannot read the spec",
    why="it is of another release, so its claims, devices and runtime are not looked at",
)
STALLED: Final = Kind(
    id="ServiceStalled",
    area=Area.SERVICES,
    severity=Severity.FIX,
    when="condition Stalled is True",
    why="the operator waits for somebody to change something",
)
UNSTAGED: Final = Kind(
    id="ArtifactsNotStaged",
    area=Area.SERVICES,
    severity=Severity.FIX,
    when="condition ArtifactsStaged is False, for another reason than work under way",
    why="its pods do not start",
)
ROLLED_BACK: Final = Kind(
    id="ServiceRolledBack",
    area=Area.SERVICES,
    severity=Severity.LOOK,
    when="condition RolledBack is True",
    why="it answers without its speculation, at the plain price",
)
KINDS: Final = (UNSEEN, BEHIND, UNREADABLE, STALLED, UNSTAGED, ROLLED_BACK)
_BUSY: Final = frozenset({"Staging", "Downloading"})


def condition(service: Service, kind: str) -> Found:
    """A condition of its status; empty where it is not there."""
    every = service.found.of("status", "conditions").items
    return next((each for each in every if each.of("type").text == kind), Found())


def check(picture: Picture) -> Iterator[Finding]:
    """Everything that the services say themselves."""
    for service in services(picture):
        if service.spec is None:
            what = f"the spec of service {service.about} is not one that this command knows"
            yield UNREADABLE.found(service.about, what, "use the specdec of the operator's release")
        yield from _seen(service, picture)
        yield from _said(service)


def _seen(service: Service, picture: Picture) -> Iterator[Finding]:
    meta, status = service.found.of("metadata"), service.found.of("status")
    made, told = meta.of("creationTimestamp").time, status.of("observedGeneration").whole
    if not status.there or (told or 0) < 0:
        if made is None or picture.now - made > _SOON:
            fix = "look at the operator's log; SPECDEC_NAMESPACES may leave its namespace out"
            yield UNSEEN.found(service.about, f"no operator has looked at service {service.about}", fix)
    elif told is not None and told < (meta.of("generation").whole or 0):
        what = f"service {service.about} is at generation {meta.of('generation').text}, its status at {told}"
        yield BEHIND.found(service.about, what, f"wait, then {_status(service)}")


def _said(service: Service) -> Iterator[Finding]:
    for kind, name, bad in ((STALLED, "Stalled", "True"), (ROLLED_BACK, "RolledBack", "True")):
        found = condition(service, name)
        if found.of("status").text == bad:
            yield kind.found(service.about, _words(service, found), _fix(service, kind))
    staged = condition(service, "ArtifactsStaged")
    if staged.of("status").text == "False" and staged.of("reason").text not in _BUSY:
        yield UNSTAGED.found(service.about, _words(service, staged), _status(service))


def _words(service: Service, found: Found) -> str:
    return f"service {service.about} is {found.of('type').text}={found.of('status').text}, " + (
        f"{found.of('reason').text}: {found.of('message').text.rstrip('.')}"
    )


def _fix(service: Service, kind: Kind) -> str:
    retry = f"specdec retry {service.name} -n {service.namespace}"
    return f"{_status(service)}, then {retry}" if kind is ROLLED_BACK else f"correct what it names; {_status(service)}"


def _status(service: Service) -> str:
    return f"specdec status {service.name} -n {service.namespace}"
