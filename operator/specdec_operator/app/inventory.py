"""Whether the watches have reported all objects and all deletions. Lists of our own, names only, decide it.

kopf's watches do not report when their first list is complete. They do not report what a later list does not hold any
more (docs/decisions/0016-one-queue.md). Nothing is decided until everything in our list was reported. An object that
was reported and is in no list any more is deleted.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeAlias

from specdec_operator.errors import Unavailable
from specdec_operator.kube.client import version_of
from specdec_operator.names import GROUP, KSERVE_GROUP, KSERVE_VERSION, OWNER_LABEL, PLURAL, STAGING_LABEL, VERSION, Key

_LOG = logging.getLogger(__name__)
_PATHS: Final[Mapping[str, tuple[str, str, str]]] = {
    "services": (f"/apis/{GROUP}/{VERSION}", PLURAL, ""),
    "inferenceservices": (f"/apis/{KSERVE_GROUP}/{KSERVE_VERSION}", "inferenceservices", OWNER_LABEL),
    "deployments": ("/apis/apps/v1", "deployments", OWNER_LABEL),
    "pods": ("/api/v1", "pods", OWNER_LABEL),
    "jobs": ("/apis/batch/v1", "jobs", OWNER_LABEL),
}
"""The path of each watched kind, and the label by which it is watched."""
_POLL: Final = 0.2
_RELIST: Final = 5.0
"""Seconds after which an unreported object is looked for again: it may have been deleted."""
_EVERY: Final = 600.0
"""Seconds between two lists without cause. A deletion that no watch reported and no list followed is rare."""
_SETTLE: Final = 2.0
"""Seconds after the first object of a new list of kopf's until its others have come."""

_FOLLOW_UP: Final = 20.0
"""Seconds after which it is looked once more. What interrupted one watch may have interrupted others. kopf tries each
of them for 12 s by itself, and a watch that lists again and finds nothing reports nothing."""

Object: TypeAlias = dict[str, Any]


class Lister(Protocol):
    """Lists names."""

    async def list_metadata(self, path: str, label_selector: str) -> list[Object] | None:
        """The metadata of all objects at a path, none where they are not served; None: we may not read them."""


@dataclass(slots=True)
class _Seen:
    """An object as it was reported last. owner, staging: its labels; at: monotonic seconds.

    version: its resourceVersion, which counts up for all objects of a kind together (documented since Kubernetes 1.35;
    etcd's revision before that). 0 if it is not a number.
    """

    uid: str
    version: int
    owner: str
    staging: str
    at: float

    def end(self, key: Key) -> Object:
        """The news of its end."""
        labels = {OWNER_LABEL: self.owner, **({STAGING_LABEL: self.staging} if self.staging else {})}
        return {"metadata": {"namespace": key[0], "name": key[1], "uid": self.uid, "labels": labels}}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Listing:
    """The objects of a kind. readable: whether all of them could be listed, so that what is not in it is gone."""

    keys: frozenset[Key]
    readable: bool


class Inventory:
    """Every object that the watches reported.

    owns: whether the services of a namespace are this process's. gone: called with the kind and the identity of an
    object that was deleted without an event. clock: seconds that never go back.
    """

    def __init__(
        self,
        lister: Lister,
        namespaces: Iterable[str],
        *,
        owns: Callable[[str], bool],
        gone: Callable[[str, Object], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._lister = lister
        self._namespaces = tuple(namespaces)
        self._owns = owns
        self._gone = gone
        self._seen: dict[str, dict[Key, _Seen]] = {kind: {} for kind in _PATHS}
        self._clock = clock
        self._began = clock()
        self._cause = asyncio.Event()
        self._complete = False

    def begin(self) -> None:
        """The watches begin again: what they reported before proves nothing. What is not ours any more is dropped."""
        self._began, self._complete = self._clock(), False
        for kind, seen in self._seen.items():
            for key in [each for each in seen if not self._owns(each[0])]:
                self._gone(kind, seen.pop(key).end(key))

    def note(self, kind: str, event: Mapping[str, Any]) -> Object | None:
        """Takes in an event. Returns the end of another object of this name that it replaces.

        Raises Outdated where the event is about such another object itself, which is gone already.
        """
        meta, seen = event["object"]["metadata"], self._seen[kind]
        key = (meta["namespace"], meta["name"])
        known, version = seen.get(key), version_of(event["object"])
        replaced = known if known is not None and known.uid != meta["uid"] else None
        if replaced is not None and (event["type"] == "DELETED" or version < replaced.version):
            raise Outdated  # kopf handles the two side by side
        if event["type"] == "DELETED":
            seen.pop(key, None)
            return None
        if event["type"] is None and self._complete:
            self._cause.set()  # kopf lists again: an object may have been deleted without an event
        labels = meta.get("labels") or {}
        owner, staging = labels.get(OWNER_LABEL, ""), labels.get(STAGING_LABEL, "")
        seen[key] = _Seen(meta["uid"], version, owner, staging, self._clock())
        return replaced.end(key) if replaced is not None else None

    async def complete(self) -> None:
        """Returns once the watches have reported all objects."""
        while True:
            before = self._clock()
            listed, at = await self._list(), self._clock()
            while self._clock() - at < _RELIST:
                if not any(self._missing(kind, listing) for kind, listing in listed.items()):
                    self._complete = True
                    self._drop(listed, before)
                    return
                await asyncio.sleep(_POLL)

    async def keep(self) -> None:
        """Looks for deleted objects, now and then and whenever kopf lists again. Never returns."""
        wait = _EVERY
        while True:
            self._cause.clear()
            try:
                await asyncio.wait_for(self._cause.wait(), wait)
                await asyncio.sleep(_SETTLE)
                wait = _FOLLOW_UP
            except TimeoutError:
                wait = _EVERY
            at = self._clock()
            self._drop(await self._list(), at)

    async def _list(self) -> dict[str, _Listing]:
        """Every object of ours, by kind. Asks again until the API server answers."""
        while True:
            try:
                return {kind: await self._list_kind(kind) for kind in _PATHS}
            except Unavailable as error:
                _LOG.warning("cannot list the existing objects: %s", error.message)
                await asyncio.sleep(_RELIST)

    async def _list_kind(self, kind: str) -> _Listing:
        group, plural, label = _PATHS[kind]
        paths = [f"{group}/namespaces/{each}/{plural}" for each in self._namespaces] or [f"{group}/{plural}"]
        listed = [await self._lister.list_metadata(path, label) for path in paths]
        keys = {(meta["namespace"], meta["name"]) for part in listed for meta in part or ()}
        return _Listing(keys=frozenset(key for key in keys if self._owns(key[0])), readable=None not in listed)

    def _missing(self, kind: str, listing: _Listing) -> bool:
        seen = self._seen[kind]
        return any((known := seen.get(key)) is None or known.at < self._began for key in listing.keys)

    def _drop(self, listed: Mapping[str, _Listing], at: float) -> None:
        """Reports the end of objects that were seen before the list was made and are not in it."""
        for kind, listing in listed.items():
            seen = self._seen[kind]
            for key in [each for each, known in seen.items() if each not in listing.keys and known.at < at]:
                if listing.readable:
                    self._gone(kind, seen.pop(key).end(key))


class Outdated(Exception):
    """An event about an object whose name belongs to another one by now."""
