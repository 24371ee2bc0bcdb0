"""Which service guards which guest, by the specs that the watch has reported: no reconcile lists services for it.

Of several services that name the same object the oldest guards it. Of the services of a namespace that name one, as
many of the oldest as are allowed are followed: a restart of the operator follows the same.
"""

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Mapping
from typing import Any, TypeAlias

from specdec_operator.api.guest import ONE_OF
from specdec_operator.names import Key

Body: TypeAlias = Mapping[str, Any]
Age: TypeAlias = tuple[str, str]
"""When a service was created, and its name: what sorts first is older."""
Named: TypeAlias = tuple[str, str, str]
"""A guest: the namespace, the field of the spec that names it, and its name."""


class GuestGuards:
    """Every service that names a guest."""

    def __init__(self) -> None:
        self._known: dict[Key, tuple[Age, Named]] = {}
        self._by_namespace: defaultdict[str, list[Age]] = defaultdict(list)
        self._by_guest: defaultdict[Named, list[Age]] = defaultdict(list)

    def note(self, body: Body) -> None:
        """Takes in a service as it is now."""
        key = (str(body["metadata"]["namespace"]), str(body["metadata"]["name"]))
        named = _named(body, key[0])
        age = (str(body["metadata"].get("creationTimestamp", "")), key[1])
        if self._known.get(key) == (age, named):
            return
        self.forget(key)
        if named is not None:
            self._known[key] = (age, named)
            insort(self._by_namespace[key[0]], age)
            insort(self._by_guest[named], age)

    def forget(self, key: Key) -> None:
        """Drops a service that is gone."""
        age, named = self._known.pop(key, (None, None))
        if age is not None and named is not None:
            _drop(self._by_namespace, key[0], age)
            _drop(self._by_guest, named, age)

    def older(self, key: Key) -> str | None:
        """The name of the oldest service that names the guest of this one; None: it is this one itself."""
        known = self._known.get(key)
        first = self._by_guest[known[1]][0] if known else None
        return first[1] if first is not None and first[1] != key[1] else None

    def has_guard(self, namespace: str, name: str) -> bool:
        """Whether a service names this InferenceService."""
        return (namespace, ONE_OF[1], name) in self._by_guest

    def place(self, key: Key) -> int:
        """How many services of the namespace are older and name a guest."""
        known = self._known.get(key)
        return bisect_left(self._by_namespace[key[0]], known[0]) if known else 0


def _named(body: Body, namespace: str) -> Named | None:
    """The guest that a service names; None: it names none, or nothing that could be one."""
    spec = body.get("spec") or {}
    for field in ONE_OF[1:]:
        ref = spec.get(field)
        if isinstance(ref, Mapping) and ref.get("name"):
            return namespace, field, str(ref["name"])
    return None


def _drop(lists: defaultdict[Any, list[Age]], key: Any, age: Age) -> None:
    """Takes one out of a list, and the list with its last one."""
    ages = lists[key]
    del ages[bisect_left(ages, age)]
    if not ages:
        del lists[key]
