"""Field ownership of an object that is taken over: what others wrote into its spec becomes ours, so that our next apply
takes out what it does not hold. Pure.

Labels, annotations and finalizers of others stay theirs, and so does the status.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from specdec_operator.names import CHILD_MANAGER

Entry = Mapping[str, Any]
_SPEC: Final = "f:spec"


def taken_over(entries: Sequence[Entry]) -> list[dict[str, Any]] | None:
    """The managedFields with one Apply entry of ours for every manager's fields of the spec; None if already so."""
    others = [each for each in entries if _is_taken(each)]
    if not others:
        return None
    ours = next((each for each in entries if _is_ours(each)), None)
    fields = dict(ours["fieldsV1"]) if ours else {}
    for each in others:
        fields = merged(fields, {_SPEC: each["fieldsV1"][_SPEC]})
    first = ours or others[-1]
    own = {"manager": CHILD_MANAGER, "operation": "Apply", "fieldsType": "FieldsV1", "fieldsV1": fields}
    own |= {name: first[name] for name in ("apiVersion", "time") if name in first}
    return [own, *(left for each in entries if not _is_ours(each) and (left := _without_spec(each)) is not None)]


def merged(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """Every field of two sets."""
    both = one.keys() & other.keys()
    return {**one, **other, **{name: merged(one[name], other[name]) for name in both}}


def _is_ours(entry: Entry) -> bool:
    own = entry.get("manager") == CHILD_MANAGER and entry.get("operation") == "Apply"
    return own and not entry.get("subresource")


def _is_taken(entry: Entry) -> bool:
    return not _is_ours(entry) and not entry.get("subresource") and _SPEC in (entry.get("fieldsV1") or {})


def _without_spec(entry: Entry) -> dict[str, Any] | None:
    if not _is_taken(entry):
        return dict(entry)
    left = {name: fields for name, fields in entry["fieldsV1"].items() if name != _SPEC}
    return {**entry, "fieldsV1": left} if left else None
