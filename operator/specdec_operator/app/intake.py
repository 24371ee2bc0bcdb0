"""What is kept of a service from its watch events: what the operator reads, and no spec without bounds. Pure.

The API server takes objects of up to 1.5 MB, and no schema can bound what Kubernetes' own parts hold inside, such as
pod.affinity: 1.4 MB of small parts are 25 MB once they are read. Such a spec is dropped before it is stored. Its size
is kept, and the status of the service shows the problem.
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


def kept(body: Mapping[str, Any]) -> dict[str, Any]:
    """A service without unread parts: of annotations ours only, because the last applied one is the spec once more.

    Of a spec that is too large only its size is kept, in bytes of JSON.
    """
    meta = {name: each for name, each in body["metadata"].items() if name not in ("managedFields", "annotations")}
    annotations = body["metadata"].get("annotations") or {}
    ours = {name: text for name, text in annotations.items() if name.startswith(_OURS)}
    small = {**body, "metadata": {**meta, "annotations": ours}}
    size = len(json.dumps(body.get("spec"), separators=(",", ":"), ensure_ascii=False).encode())
    return small | {"spec": {}, TOO_LARGE: size} if size > MOST_SPEC_BYTES else small


def short_line(line: bytes) -> bytes:
    """A line of a watch, which is one event; of a service that is too large, what is kept of it."""
    if len(line) <= MOST_SPEC_BYTES:
        return line
    event = json.loads(line)
    if event.get("object", {}).get("kind") != KIND:
        return line
    return json.dumps({**event, "object": kept(event["object"])}).encode()


def read_answer(text: str) -> Any:
    """An answer of the API server, parsed; services in a long list without what is too large.

    Such a list is read object by object, so that never more than one of them is there whole.
    """
    start = text.find(_ITEMS) + len(_ITEMS) if len(text) >= _LONG else 0
    if start < len(_ITEMS):
        return json.loads(text)
    decoder, items, at = json.JSONDecoder(), [], start
    while text[at] != "]":
        item, at = decoder.raw_decode(text, at)
        items.append(kept(item) if item.get("kind") == KIND else item)
        at += text[at] == ","
    return {**json.loads(text[:start] + text[at:]), "items": items}
