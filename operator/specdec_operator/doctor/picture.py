"""The frozen picture of a cluster that all checks look at: each answer with the question that it belongs to."""

from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from datetime import datetime

from specdec_operator.cli.found import Found
from specdec_operator.doctor.finding import Area
from specdec_operator.doctor.needs import Need


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One read. resource: as a Role names it, with its group after a dot. serves: the areas that need its answer."""

    path: str
    verb: str
    resource: str
    serves: tuple[Area, ...]
    place: str = ""
    selector: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What a question brought.

    missing: there is nothing at its path. unread: why nothing could be read, in the API server's words; else empty.
    forbidden: the user may not. cut: the list is longer than what was read of it.
    """

    question: Question
    body: Found = field(default_factory=Found)
    missing: bool = False
    unread: str = ""
    forbidden: bool = False
    cut: bool = False

    @property
    def items(self) -> tuple[Found, ...]:
        """The items of a list."""
        return self.body.of("items").items

    @property
    def there(self) -> bool:
        """Whether something was read."""
        return self.body.there

    @property
    def complete(self) -> bool:
        """Whether what is not in it is not in the cluster."""
        return not self.unread and not self.cut


@dataclass(frozen=True, slots=True, kw_only=True)
class Space:
    """One namespace. pods: those of services, or in the operator's own namespace none."""

    name: str
    itself: Look
    policies: Look
    quotas: Look
    claims: Look
    runtimes: Look
    pods: Look


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """Whether the operator may do something. namespace: empty for everywhere. allowed: None where nobody tells."""

    need: Need
    verb: str
    namespace: str
    allowed: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """One cluster at one moment, as one user sees it.

    command: version of this command. service: the only service that was asked for; None: all that are listed.
    controller, config: of KServe. home: the operator's namespace. spaces: those of services.
    reviews: the first question about permissions, for why it was not answered. more_spaces: namespaces left out.
    """

    server: str
    now: datetime
    command: str
    service: str | None
    version: Look
    kserve_crd: Look
    sis_crd: Look
    containers: Look
    controller: Look
    config: Look
    operators: Look
    lease: Look | None
    home: Space | None
    services: Look
    runtimes: Look
    nodes: Look
    classes: Look
    spaces: tuple[Space, ...]
    more_spaces: int = 0
    grants: tuple[Grant, ...] = ()
    reviews: Look | None = None

    def looks(self) -> Iterator[Look]:
        """Every answer."""
        yield from _looks(self)
        for space in (*self.spaces, *([self.home] if self.home else [])):
            yield from _looks(space)


def _looks(owner: Picture | Space) -> Iterator[Look]:
    values = (getattr(owner, each.name) for each in fields(owner))
    yield from (each for each in values if isinstance(each, Look))
