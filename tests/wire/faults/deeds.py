"""What the proxy can do with a request of the operator, as values: a rule looks at the request and picks one."""

from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final, TypeAlias

_REASONS: Final = {
    HTTPStatus.CONFLICT: "Conflict",
    HTTPStatus.GONE: "Expired",
    HTTPStatus.TOO_MANY_REQUESTS: "TooManyRequests",
    HTTPStatus.INTERNAL_SERVER_ERROR: "InternalError",
    HTTPStatus.SERVICE_UNAVAILABLE: "ServiceUnavailable",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One request. at: seconds of the monotonic clock; what: the resource and its part, as `pods` or `foos/status`.

    watch: whether it is a stream of changes that does not end. dry_run: whether nothing of it is stored.
    """

    at: float
    method: str
    path: str
    what: str
    watch: bool
    agent: str
    content_type: str
    body: bytes
    dry_run: bool = False

    @property
    def writes(self) -> bool:
        """Whether it changes something."""
        return self.method in ("POST", "PUT", "PATCH", "DELETE")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pass:
    """It goes to the API server, and the answer comes back. after: seconds that it is kept before that."""

    after: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Refuse:
    """The API server never sees it; it is answered with an error, as the API server words one.

    retry_after: seconds for the header of that name; None: without it.
    """

    status: int
    retry_after: int | None = None

    def body(self) -> dict[str, Any]:
        """The answer's body, a Kubernetes Status."""
        reason = _REASONS.get(HTTPStatus(self.status), "Unknown")
        message = f"a test's proxy answers {self.status}"
        status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure"}
        return status | {"message": message, "reason": reason, "code": self.status}


@dataclass(frozen=True, slots=True, kw_only=True)
class Hang:
    """No answer ever comes. done: whether the API server has done it before; then: called once it is so far."""

    done: bool = False
    then: Callable[[], None] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Drop:
    """The connection is reset. done: whether the API server has done it before."""

    done: bool = False


Deed: TypeAlias = Pass | Refuse | Hang | Drop
Rule: TypeAlias = Callable[[Asked], Deed]


def let_pass(_: Asked) -> Deed:
    """The rule that does nothing."""
    return Pass()


def resource(path: str) -> str:
    """What a path of the API is about: `pods`, `pods/log`, `speculativeinferenceservices/status`; empty: discovery."""
    parts = path.strip("/").split("/")
    if parts[0] not in ("api", "apis"):
        return ""
    rest = parts[2:] if parts[0] == "api" else parts[3:]
    if rest[:1] == ["namespaces"] and len(rest) > 2:
        rest = rest[2:]
    return "/".join(rest[:1] + rest[2:3])
