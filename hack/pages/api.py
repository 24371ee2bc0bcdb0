"""docs/api.md: every field of the schema, below the object that has it, and each shared object once."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from hack.pages import cell, render
from specdec_operator.schema.crd import openapi

Schema = Mapping[str, Any]


_NONE: Final[Schema] = {"properties": {}}
_NAMED: Final = frozenset(
    {
        "status.guard",
        "spec.engine.securityContext",
        *(f"spec.pod.{name}" for name in ("securityContext", "topologySpreadConstraints", "volumes", "volumeMounts")),
    }
)
"""Fields whose own fields are only named: the operator's memory, and what means the same as in a pod."""


def page() -> str:
    """docs/api.md."""
    parts = openapi()["properties"]
    return render("api.md", parts={name: [*_lines(parts[name], [name], {})] for name in ("spec", "status")})


def _lines(schema: Schema, path: list[str], shown: dict[str, str]) -> Iterator[str]:
    """The list of an object's fields, with those of its own objects below each. shown: objects by their fields."""
    for each in schema["properties"].items():
        name, part = _joined(*each)
        words, below = _below(part, [*path, name], shown)
        yield f"- `{name}`{_type(part)}: {cell(part.get('description', '') + words)}"
        yield from (f"    {line}" for line in _lines(below, [*path, name], shown))


def _below(part: Schema, path: list[str], shown: dict[str, str]) -> tuple[str, Schema]:
    """What the line of a field has about the fields below it, and those that get lines of their own."""
    inner, where = _inner(part), ".".join(path)
    if inner is None:
        return "", _NONE
    first = shown.setdefault(json.dumps(inner["properties"], sort_keys=True), where)
    if first != where:
        return f" Fields: as `{first}`.", _NONE
    if where in _NAMED:
        return f" Fields: `{', '.join(inner['properties'])}`.", _NONE
    return "", inner


def _inner(part: Schema) -> Schema | None:
    """What has the fields of a field: itself, or the items of a list."""
    found: Schema = part.get("items", part)
    return found if "properties" in found else None


def _joined(name: str, part: Schema) -> tuple[str, Schema]:
    """A field, or the only one below it with both descriptions: `retry.after`."""
    inner = part.get("properties", {})
    if len(inner) != 1:
        return name, part
    (below,) = inner
    words = f"{part.get('description', '')} {inner[below].get('description', '')}"
    return _joined(f"{name}.{below}", {**inner[below], "description": words})


def _type(part: Schema) -> str:
    """What the meaning does not show: values, list, number with a fraction, duration, range, default."""
    known = [*_kind(part), *_range(part)]
    if "default" in part and not isinstance(part["default"], dict):
        known.append(f"default `{_word(part['default'])}`")
    return f" ({', '.join(known)})" if known else ""


def _kind(part: Schema) -> list[str]:
    if "enum" in part:
        words = [word for each in part["enum"] if not (word := _word(each)).endswith("_mtp")]
        known = all(re.search(rf"\b{word}\b", part.get("description", ""), re.IGNORECASE) for word in words)
        return [] if known else [" or ".join([", ".join(words[:-1]), words[-1]])]
    if part["type"] == "array":
        of = part["items"].get("type", "any")
        return ["list" if of in ("string", "object") else f"list of {of}s"]
    kind = "duration" if part.get("format") == "duration" else str(part["type"])
    return [] if kind in ("string", "boolean", "integer") or _inner(part) else [kind]


def _range(part: Schema) -> list[str]:
    low, high = part.get("minimum"), part.get("maximum")
    if low is not None and high is not None and not part.get("exclusiveMinimum"):
        return [f"{low:,} to {high:,}"]
    above = [f"{'> ' if part.get('exclusiveMinimum') else '≥ '}{low:,}"] if low is not None else []
    return [*above, *([f"≤ {high:,}"] if high is not None else [])]


def _word(value: object) -> str:
    """A value as YAML writes it."""
    if isinstance(value, list):
        return json.dumps(value).replace('"', "")
    return str(value).lower() if isinstance(value, bool) else str(value)
