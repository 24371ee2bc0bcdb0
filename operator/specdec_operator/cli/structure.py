"""Compares an object with a structural schema as the API server does: types, bounds, patterns, unknown fields, rules.

Defaults are filled in as the API server fills them in, before anything is judged.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from specdec_operator.cli import cel

Schema = Mapping[str, Any]
_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
}
_SHOWN: Final = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """What the API server would refuse. kind: SCHEMA-TYPE, SCHEMA-UNKNOWN, ..., or API-RULE for a rule of the CRD."""

    path: str
    kind: str
    value: object
    message: str


def filled(value: Any, schema: Schema) -> Any:
    """The value with the schema's defaults where something is left out; null counts as left out."""
    if isinstance(value, dict) and "properties" in schema:
        parts = schema["properties"]
        given = {key: part for key, part in value.items() if part is not None or key not in parts}
        missing = {key: part["default"] for key, part in parts.items() if "default" in part and key not in given}
        whole = given | missing
        return {key: filled(part, parts[key]) if key in parts else part for key, part in whole.items()}
    if isinstance(value, list) and "items" in schema:
        return [filled(item, schema["items"]) for item in value]
    return value


def problems(value: Any, schema: Schema, path: str) -> Iterator[Problem]:
    """Everything that is wrong, outermost first. Rules are asked only where the shape below them is right."""
    kind = schema.get("type")
    if kind is not None and not _is(value, kind):
        yield _problem(path, "TYPE", value, f"must be {_article(kind)}")
        return
    inside = [*_scalar(value, schema, path), *_object(value, schema, path), *_array(value, schema, path)]
    yield from inside
    if not inside:
        yield from _rules(value, schema, path)


def _is(value: Any, kind: str) -> bool:
    if isinstance(value, bool) and kind != "boolean":
        return False
    if kind == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, _TYPES[kind])


def _scalar(value: Any, schema: Schema, path: str) -> Iterator[Problem]:
    if "enum" in schema and value not in schema["enum"]:
        yield _problem(path, "ENUM", value, f"must be one of {', '.join(map(str, schema['enum']))}")
    if isinstance(value, str):
        if len(value) > schema.get("maxLength", len(value)):
            yield _problem(path, "LENGTH", value, f"must have at most {schema['maxLength']} characters")
        elif len(value) < schema.get("minLength", 0):
            yield _problem(path, "LENGTH", value, f"must have at least {schema['minLength']} characters")
        elif "pattern" in schema and not re.search(schema["pattern"], value):
            yield _problem(path, "PATTERN", value, f"must match {schema['pattern']}")
    if isinstance(value, int | float) and not isinstance(value, bool):
        yield from _bounds(value, schema, path)


def _bounds(value: float, schema: Schema, path: str) -> Iterator[Problem]:
    low, high = schema.get("minimum"), schema.get("maximum")
    if value != value:  # noqa: PLR0124 - only NaN differs from itself
        yield _problem(path, "RANGE", value, "must be a number")
    elif low is not None and (value <= low if schema.get("exclusiveMinimum") else value < low):
        yield _problem(path, "RANGE", value, f"must be {'>' if schema.get('exclusiveMinimum') else '>='} {low:g}")
    elif high is not None and value > high:
        yield _problem(path, "RANGE", value, f"must be <= {high:g}")


def _object(value: Any, schema: Schema, path: str) -> Iterator[Problem]:
    if not isinstance(value, dict):
        return
    parts, rest = schema.get("properties", {}), schema.get("additionalProperties")
    for name in schema.get("required", ()):
        if name not in value:
            yield _problem(f"{path}.{name}".lstrip("."), "REQUIRED", None, "is required")
    for key, part in value.items():
        inner = f"{path}.{key}".lstrip(".")
        if key in parts:
            yield from problems(part, parts[key], inner)
        elif isinstance(rest, Mapping):
            yield from problems(part, rest, inner)
        elif parts and not schema.get("x-kubernetes-preserve-unknown-fields"):
            yield _problem(inner, "UNKNOWN", part, f"is no field here; known are {', '.join(parts)}")


def _array(value: Any, schema: Schema, path: str) -> Iterator[Problem]:
    if not isinstance(value, list):
        return
    if len(value) > schema.get("maxItems", len(value)):
        yield _problem(path, "LENGTH", len(value), f"must have at most {schema['maxItems']} items")
        return
    if len(value) < schema.get("minItems", 0):
        yield _problem(path, "LENGTH", len(value), f"must have at least {schema['minItems']} items")
    for index, item in enumerate(value):
        yield from problems(item, schema.get("items", {}), f"{path}[{index}]")


def _rules(value: Any, schema: Schema, path: str) -> Iterator[Problem]:
    for rule in schema.get("x-kubernetes-validations", ()):
        if not cel.holds(rule["rule"], value):
            field = path + rule.get("fieldPath", "")
            yield Problem(
                path=field, kind="API-RULE", value=_at(value, rule.get("fieldPath", "")), message=rule["message"]
            )


def _at(value: Any, path: str) -> Any:
    for name in filter(None, path.split(".")):
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _problem(path: str, kind: str, value: Any, message: str) -> Problem:
    return Problem(path=path, kind=f"SCHEMA-{kind}", value=_short(value), message=message)


def _short(value: Any) -> Any:
    return f"{value[:_SHOWN]}…" if isinstance(value, str) and len(value) > _SHOWN else value


def _article(kind: str) -> str:
    return f"an {kind}" if kind[0] in "aio" else f"a {kind}"
