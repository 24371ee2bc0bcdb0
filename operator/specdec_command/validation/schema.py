"""Compares an object with a structural schema as the API server does: types, bounds, patterns, unknown fields, rules.

Defaults are filled in as the API server fills them in, before anything is judged. Of CEL there is what the CRD's rules
use; each of them is asked of a real API server and of this in tests/wire. CEL's syntax is near enough to Python's that
Python's parser reads it once `&&`, `||` and `!` are spelt out.
"""

import ast
import functools
import operator
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Final

from specdec_engine.quantity import parse_duration
from specdec_operator.engine.translate import at

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
class SchemaProblem:
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


def problems(value: Any, schema: Schema, path: str) -> Iterator[SchemaProblem]:
    """Everything that is wrong, outermost first. Rules are asked only where the shape below them is right."""
    kind = schema.get("type")
    if kind is not None and not _is(value, kind):
        yield _problem(path, "TYPE", value, f"must be a{'n' if kind[0] in 'aio' else ''} {kind}")
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


def _scalar(value: Any, schema: Schema, path: str) -> Iterator[SchemaProblem]:
    if "enum" in schema and value not in schema["enum"]:
        known = [str(each) for each in schema["enum"]]
        near = get_close_matches(str(value), known, n=1)
        hint = f"did you mean {near[0]}? " if near else ""
        yield _problem(path, "ENUM", value, f"{hint}must be one of {', '.join(known)}")
    if isinstance(value, str):
        if len(value) > schema.get("maxLength", len(value)):
            yield _problem(path, "LENGTH", value, f"must have at most {schema['maxLength']} characters")
        elif len(value) < schema.get("minLength", 0):
            yield _problem(path, "LENGTH", value, f"must have at least {schema['minLength']} characters")
        elif "pattern" in schema and not re.search(schema["pattern"], value):
            yield _problem(path, "PATTERN", value, f"must match {schema['pattern']}")
    if isinstance(value, int | float) and not isinstance(value, bool):
        yield from _bounds(value, schema, path)


def _bounds(value: float, schema: Schema, path: str) -> Iterator[SchemaProblem]:
    low, high = schema.get("minimum"), schema.get("maximum")
    if value != value:  # noqa: PLR0124 - only NaN differs from itself
        yield _problem(path, "RANGE", value, "must be a number")
    elif low is not None and (value <= low if schema.get("exclusiveMinimum") else value < low):
        yield _problem(path, "RANGE", value, f"must be {'>' if schema.get('exclusiveMinimum') else '>='} {low:g}")
    elif high is not None and value > high:
        yield _problem(path, "RANGE", value, f"must be <= {high:g}")


def _object(value: Any, schema: Schema, path: str) -> Iterator[SchemaProblem]:
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
            yield _problem(inner, "UNKNOWN", part, f"is not a field here; the fields are {', '.join(parts)}")


def _array(value: Any, schema: Schema, path: str) -> Iterator[SchemaProblem]:
    if not isinstance(value, list):
        return
    if len(value) > schema.get("maxItems", len(value)):
        yield _problem(path, "LENGTH", len(value), f"must have at most {schema['maxItems']} items")
        return
    if len(value) < schema.get("minItems", 0):
        yield _problem(path, "LENGTH", len(value), f"must have at least {schema['minItems']} items")
    for index, item in enumerate(value):
        yield from problems(item, schema.get("items", {}), f"{path}[{index}]")


def _rules(value: Any, schema: Schema, path: str) -> Iterator[SchemaProblem]:
    for rule in schema.get("x-kubernetes-validations", ()):
        if not holds(rule["rule"], value):
            field = rule.get("fieldPath", "")
            found = at(value, field[1:]) if field else value
            yield SchemaProblem(path=path + field, kind="API-RULE", value=found, message=rule["message"])


def _problem(path: str, kind: str, value: Any, message: str) -> SchemaProblem:
    shown = f"{value[:_SHOWN]}…" if isinstance(value, str) and len(value) > _SHOWN else value
    return SchemaProblem(path=path, kind=f"SCHEMA-{kind}", value=shown, message=message)


Scope = Mapping[str, Any]
_STRINGS: Final = re.compile(r"('(?:[^'\\]|\\.)*')")
_OPERATORS: Final[Mapping[type, Callable[[Any, Any], Any]]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda item, items: item in items,
    ast.Add: operator.add,
    ast.Sub: operator.sub,
}


def holds(rule: str, value: Any) -> bool:
    """Whether a rule holds for a value, which it calls `self`. Raises NotImplementedError for other CEL."""
    return bool(_value(_parsed(rule), {"self": value}))


@functools.cache
def _parsed(rule: str) -> ast.expr:
    return ast.parse(python_spelling(rule), mode="eval").body


def python_spelling(rule: str) -> str:
    """The rule with Python's operators for and, or, not, true and false; strings stay as they are."""
    parts = _STRINGS.split(rule)
    for index in range(0, len(parts), 2):
        part = parts[index].replace("&&", " and ").replace("||", " or ")
        part = re.sub(r"!(?!=)", " not ", part)
        parts[index] = re.sub(r"\btrue\b", "True", re.sub(r"\bfalse\b", "False", part))
    return "".join(parts).strip()


def _value(node: ast.expr, scope: Scope) -> Any:
    if type(node) not in _READERS:
        raise NotImplementedError(ast.dump(node))
    return _READERS[type(node)](node, scope)


def _operated(sign: ast.AST, left: ast.expr, right: ast.expr, scope: Scope) -> Any:
    if type(sign) not in _OPERATORS:
        raise NotImplementedError(ast.dump(sign))
    return _OPERATORS[type(sign)](_value(left, scope), _value(right, scope))


def _call(node: ast.Call, scope: Scope) -> Any:
    match node:
        case ast.Call(func=ast.Name(id="has"), args=[ast.Attribute(value=whole, attr=name)]):
            return name in _value(whole, scope)
        case ast.Call(func=ast.Name(id="duration"), args=[text]):
            return parse_duration(_value(text, scope))
        case ast.Call(func=ast.Attribute(value=items, attr=name), args=[ast.Name(id=variable), body]):
            each = _value(items, scope)
            return _MACROS[name](each, [_value(body, {**scope, variable: item}) for item in each])
        case ast.Call(func=ast.Attribute(value=subject, attr=name)):
            return _METHODS[name](_value(subject, scope), *(_value(each, scope) for each in node.args))
    raise NotImplementedError(ast.dump(node))


_READERS: Final[Mapping[type, Callable[[Any, Scope], Any]]] = {
    ast.Constant: lambda node, _: node.value,
    ast.Name: lambda node, scope: scope[node.id],
    ast.List: lambda node, scope: [_value(each, scope) for each in node.elts],
    ast.Attribute: lambda node, scope: _value(node.value, scope)[node.attr],
    ast.Subscript: lambda node, scope: _value(node.value, scope)[_value(node.slice, scope)],
    ast.UnaryOp: lambda node, scope: not _value(node.operand, scope),
    ast.BoolOp: lambda node, scope: _JOINED[type(node.op)](_value(each, scope) for each in node.values),
    ast.BinOp: lambda node, scope: _operated(node.op, node.left, node.right, scope),
    ast.Compare: lambda node, scope: _operated(node.ops[0], node.left, node.comparators[0], scope),
    ast.Call: _call,
}
_JOINED: Final[Mapping[type, Callable[[Iterator[Any]], bool]]] = {ast.And: all, ast.Or: any}
_MACROS: Final[Mapping[str, Callable[[list[Any], list[Any]], Any]]] = {
    "all": lambda _, each: all(each),
    "exists": lambda _, each: any(each),
    "exists_one": lambda _, each: sum(map(bool, each)) == 1,
    "filter": lambda items, each: [item for item, kept in zip(items, each, strict=True) if kept],
    "map": lambda _, each: each,
}
_METHODS: Final[Mapping[str, Callable[..., Any]]] = {
    "size": len,
    "startsWith": str.startswith,
    "endsWith": str.endswith,
    "matches": lambda text, pattern: re.search(pattern, text) is not None,
    "isSorted": lambda items: items == sorted(items),
}
