"""Fills the placeholders that KServe allows in a runtime's container: the InferenceService's own metadata.

KServe runs Go's template engine over the container; the stand-in knows the forms that its documentation
names and refuses everything else, as Go does with most of it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from tests.kserve_standin.model import Manifest, Metadata, RefusalKind, Refused, Runtime

_PLACEHOLDER = re.compile(r"{{(.*?)}}")
_FIELD = re.compile(r"\.(Name|Namespace|(?:Annotations|Labels)\.(\w+))")
# KServe fills its containers with the engine for web pages, so what it puts in is escaped for one.
_ESCAPES = str.maketrans(
    {'"': "&#34;", "&": "&amp;", "'": "&#39;", "+": "&#43;", "<": "&lt;", ">": "&gt;", "\0": "\ufffd"}
)


def fill(container: Manifest, meta: Metadata, runtime: Runtime) -> Manifest:
    """Return the container with every {{.Field}} replaced, or raise the refusal that KServe reports."""
    text = json.dumps(container, ensure_ascii=False)
    try:
        filled = json.loads(_PLACEHOLDER.sub(lambda found: _value(found.group(1).strip(), meta), text))
        if "{{" in json.dumps(filled):
            raise ValueError("an action is not closed")
    except ValueError as error:
        message = f"failed to replace placeholders in serving runtime {runtime.name} Container {container['name']}"
        kind, reason = RefusalKind.INVALID_SPEC, "InvalidPredictorSpec"
        raise Refused(kind=kind, reason=reason, message=message) from error
    return dict(filled)


def _value(expression: str, meta: Metadata) -> str:
    field = _FIELD.fullmatch(expression)
    if field is None:
        raise ValueError(f"placeholder {{{{{expression}}}}} is not a field of the metadata")
    kind, _, key = field.group(1).partition(".")
    found = meta.get(kind.lower(), "")
    if key:
        found = found.get(key, "") if isinstance(found, Mapping) else ""
    # The template is filled inside JSON text, so a line break must not end its string.
    return json.dumps(str(found).translate(_ESCAPES), ensure_ascii=False)[1:-1]
