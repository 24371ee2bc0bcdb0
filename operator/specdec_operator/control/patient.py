"""A watch that ends with an error is begun anew, tells of what went meanwhile, and brings no more than is looked at.

kopf (1.45.2) takes an ERROR event for fatal unless it says 410, a line that is no JSON, and after a minute also a list
that is answered with 5xx or 409, as by an API server whose etcd is away: the process ends, and every decision waits for
its restart. It begins anew with a list, which says nothing of an object that was deleted while nobody watched; here
that is told.
"""

import asyncio
import logging
import sys
from collections import defaultdict
from collections.abc import AsyncIterator, Iterator
from typing import Any, Final, TypeAlias, cast

from kopf._cogs.clients import errors, watching

from specdec_operator import names

_LOG = logging.getLogger(__name__)
_SHORT: Final = 40
"""Characters up to which a text is likely to be in other objects too: reasons, types, times."""
_PAUSE: Final = 1.0
"""Seconds before it is begun anew, for it begins with a list."""
_ENDS: Final = (watching.WatchingError, errors.APIServerError, errors.APIConflictError, ValueError)
"""What ends a watch and not the process; ValueError: a line that is no JSON, such as half an event."""
_watch: Final = watching.continuous_watch

Event: TypeAlias = dict[str, Any]
Known: TypeAlias = dict[tuple[str, str], Event]
"""What little is kept of each object that there was, by namespace and name."""


def watch_patiently() -> None:
    """Sets kopf so for this process; doing it twice is doing it once."""
    known: defaultdict[object, Known] = defaultdict(dict)

    async def patient(**asked: Any) -> AsyncIterator[Any]:
        there, listed = known[asked["resource"], asked["namespace"]], set[tuple[str, str]]()
        try:
            async for each in _watch(**asked):
                if each is watching.Bookmark.LISTED:
                    for gone in went(there, listed):
                        yield gone
                    yield each
                else:
                    for event in noted(there, listed, cast("Event", each)):
                        yield event
        except _ENDS as error:
            _LOG.warning("the watch of %s is begun anew: %s", asked["resource"], error)
            await asyncio.sleep(_PAUSE)

    watching.continuous_watch = patient


def noted(there: Known, listed: set[tuple[str, str]], event: Event) -> Iterator[Event]:
    """An event, made lighter; before it the end of another object of the same name. listed: takes in what is named."""
    meta = event["object"].get("metadata", {})
    key = (meta.get("namespace", ""), meta.get("name", ""))
    if "uid" in meta and event["type"] == "DELETED":
        there.pop(key, None)
    elif "uid" in meta:
        listed.add(key)
        if key in there and there[key]["metadata"]["uid"] != meta["uid"]:
            yield {"type": "DELETED", "object": there[key]}
        there[key] = _end_of(event["object"])
    if event["object"].get("kind") == names.KIND:
        meta.pop("managedFields", None)  # a third of a sis, which kopf would keep and nobody reads
        event["object"] = shared(event["object"])
    yield event


def went(there: Known, listed: set[tuple[str, str]]) -> Iterator[Event]:
    """The ends of the objects that a list does not name any more."""
    for key in there.keys() - listed:
        yield {"type": "DELETED", "object": there.pop(key)}


def shared(value: Any) -> Any:
    """The same, but of equal names and short texts there is one for all objects: half the memory of a sis."""
    if isinstance(value, dict):
        return {sys.intern(name): shared(each) for name, each in value.items()}
    if isinstance(value, list):
        return [shared(each) for each in value]
    return sys.intern(value) if isinstance(value, str) and len(value) <= _SHORT else value


def _end_of(body: Event) -> Event:
    meta = body["metadata"]
    kept = {name: meta[name] for name in ("namespace", "name", "uid", "labels") if name in meta}
    return {"apiVersion": body.get("apiVersion"), "kind": body.get("kind"), "metadata": kept}
