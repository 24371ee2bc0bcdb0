"""What accounts asked an API server for, by its audit log, held against what their roles grant."""

import json
import pathlib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tests.wire.api import Object

_POLICY: Object = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],  # a watch is recorded when it starts, not when it ends
    "rules": [{"level": "Metadata"}],
}
_CREATED, _FORBIDDEN = 201, 403


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Right:
    """One verb on one resource of an API group (`pods/log` is a subresource); name: of the only object, or empty."""

    group: str
    resource: str
    verb: str
    name: str = ""

    def __str__(self) -> str:
        return f"{self.verb} {self.resource}{'.' * bool(self.group)}{self.group}{' ' * bool(self.name)}{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One request. code: of the answer."""

    account: str
    right: Right
    code: int


class Recording:
    """The audit log of one API server."""

    def __init__(self, folder: pathlib.Path) -> None:
        self._policy = folder / "audit-policy.json"
        self._log = folder / "audit.log"
        self._policy.write_text(json.dumps(_POLICY))

    def flags(self) -> tuple[str, ...]:
        """What the API server is started with."""
        return (f"--audit-policy-file={self._policy}", f"--audit-log-path={self._log}", "--audit-log-maxsize=2000")

    def of(self, account: str) -> list[Asked]:
        """Every request of a service account of the operator's namespace, each once; of no object: left out."""
        user = f"system:serviceaccount:specdec-system:{account}"
        whole = self._log.read_text().rpartition("\n")[0].splitlines()
        events = {event["auditID"]: event for event in map(json.loads, whole) if event["user"]["username"] == user}
        return [_asked(account, event) for event in events.values() if "objectRef" in event]


def _asked(account: str, event: Object) -> Asked:
    where, code = event["objectRef"], event["responseStatus"]["code"]
    resource = "/".join(part for part in (where["resource"], where.get("subresource")) if part)
    group = where.get("apiGroup", "")
    name = where.get("name", "")
    return Asked(account=account, right=Right(group=group, resource=resource, verb=event["verb"], name=name), code=code)


def granted(rules: Iterable[Object]) -> set[Right]:
    """What the rules of roles allow, verb by verb."""
    return {
        Right(group=group, resource=resource, verb=verb, name=name)
        for rule in rules
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
        for name in rule.get("resourceNames", [""])
    }


def used(asked: Iterable[Asked], rights: Iterable[Right]) -> Counter[Right]:
    """How often each right was needed. A right to one named object is the one that counts for that object."""
    rights = set(rights)
    counts: Counter[Right] = Counter()
    for each in asked:
        for verb in _verbs(each):
            named = Right(group=each.right.group, resource=each.right.resource, verb=verb, name=each.right.name)
            general = Right(group=each.right.group, resource=each.right.resource, verb=verb)
            counts[named if named in rights else general] += 1
    return counts


def _verbs(asked: Asked) -> Iterator[str]:
    """An apply that makes an object needs `create` as well as `patch`."""
    yield asked.right.verb
    if asked.right.verb == "patch" and asked.code == _CREATED:
        yield "create"


def refused(asked: Iterable[Asked]) -> list[str]:
    """The requests that were forbidden."""
    return [f"{each.account}: {each.right}" for each in asked if each.code == _FORBIDDEN]


def table(counts: Counter[Right]) -> str:
    """Verb, resource, how often."""
    return "\n".join(f"{count:6}  {right}" for right, count in sorted(counts.items()))
