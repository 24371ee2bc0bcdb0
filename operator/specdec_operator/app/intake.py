"""What is kept of the objects of watch events: what the operator reads, and nothing without bounds. Pure.

The API server takes objects of up to 1.5 MB, and no schema can bound what Kubernetes' own parts hold inside, such as
pod.affinity: 1.4 MB of small parts are 25 MB once they are read. What is too large is dropped before it is stored. Of a
service its size is kept, and its status shows the problem. Any user can put the operator's label on a large object of
another kind; none that belongs to a service is as large.
"""

import json
from collections.abc import Mapping
from typing import Any, Final

from specdec_operator.names import ANNOTATION_PREFIX, GROUP, KIND
from specdec_operator.reconcile.sis import MOST_SPEC_BYTES, TOO_LARGE

_OURS: Final = (ANNOTATION_PREFIX, f"{GROUP}/")
_LONG: Final = 1_000_000
"""Characters from which a list is read object by object: less is read faster at once."""
_ITEMS: Final = '"items":['
_MOST_METADATA: Final = 64 * 1024
_MOST_STATUS: Final = 256 * 1024
"""Bytes of JSON that these parts of a service may have. The operator's own status has some 10 KiB."""
_MOST_OTHERS: Final = 256 * 1024
"""Bytes of JSON of another object, without managed fields. The spec of a service has 64 KiB, and is in it once."""
_IDENTITY: Final = (
    *("name", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp"),
    "finalizers",
)


def kept(body: Mapping[str, Any]) -> dict[str, Any]:
    """A service without unread parts: of annotations ours only, because the last applied one is the spec once more.

    Of a spec that is too large only its size is kept, in bytes of JSON; of such metadata, what identifies the service;
    of such a status, which the operator did not write, nothing.
    """
    meta = {name: each for name, each in body["metadata"].items() if name not in ("managedFields", "annotations")}
    annotations = body["metadata"].get("annotations") or {}
    meta["annotations"] = {name: text for name, text in annotations.items() if name.startswith(_OURS)}
    if _size(meta) > _MOST_METADATA:
        meta = {name: each for name, each in meta.items() if name in _IDENTITY} | {"annotations": {}}
    small = {**body, "metadata": meta}
    if _size(small.get("status")) > _MOST_STATUS:
        small["status"] = {}
    size = _size(body.get("spec"))
    return small | {"spec": {}, TOO_LARGE: size} if size > MOST_SPEC_BYTES else small


def outline(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """An object of another kind without managed fields; if it is too large, also without spec and status, and of its
    labels with ours only.
    """
    entries = body["metadata"].get("managedFields") or ()
    writers = [{name: part for name, part in each.items() if name != "fieldsV1"} for each in entries]
    small = {**body, "metadata": {**body["metadata"], "managedFields": writers}}
    if _size(small) <= _MOST_OTHERS:
        return small
    meta = {name: each for name, each in body["metadata"].items() if name in _IDENTITY}
    labels = body["metadata"].get("labels") or {}
    meta["labels"] = {name: text for name, text in labels.items() if name.startswith(_OURS)}
    known = {name: each for name, each in body.items() if name in ("apiVersion", "kind")}
    return known | {"metadata": meta, "spec": {}, "status": {}}


def _size(part: Any) -> int:
    return len(json.dumps(part, separators=(",", ":"), ensure_ascii=False).encode(errors="replace"))


def short_line(line: bytes) -> bytes:
    """A line of a watch, which is one event; of an object that is too large, what is kept of it."""
    if len(line) <= MOST_SPEC_BYTES:
        return line
    event = json.loads(line)
    body = event.get("object", {})
    if body.get("kind") == KIND:
        return json.dumps({**event, "object": kept(body)}).encode()
    return line if len(line) <= _MOST_OTHERS else json.dumps({**event, "object": outline(body)}).encode()


def read_answer(text: str) -> Any:
    """An answer of the API server, parsed; a long list without what is too large.

    Such a list is read object by object, so that never more than one of them is there whole.
    """
    start = text.find(_ITEMS) + len(_ITEMS) if len(text) >= _LONG else 0
    if start < len(_ITEMS):
        return json.loads(text)
    decoder, items, at = json.JSONDecoder(), [], start
    while text[at] != "]":
        item, end = decoder.raw_decode(text, at)
        if item.get("kind") == KIND:
            item = kept(item)
        elif end - at > _MOST_OTHERS:
            item = outline(item)
        items.append(item)
        at = end + (text[end] == ",")
    return {**json.loads(text[:start] + text[at:]), "items": items}
