"""The part of CEL that the CRD's rules use, so that `specdec validate` says offline what the API server says.

Each rule of the CRD is asked of a real API server and of this in tests/wire. CEL's syntax is near enough to Python's
that Python's parser reads it once `&&`, `||` and `!` are spelt out.
"""

import ast
import functools
import operator
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from specdec_operator.api.durations import parse_duration

Scope = Mapping[str, Any]
_STRINGS: Final = re.compile(r"('(?:[^'\\]|\\.)*')")
_COMPARE: Final[Mapping[type, Callable[[Any, Any], Any]]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda item, items: item in items,
}


def holds(rule: str, value: Any) -> bool:
    """Whether a rule holds for a value, which it calls `self`. Raises NotImplementedError for other CEL."""
    return bool(_value(_parsed(rule), {"self": value}))


@functools.cache
def _parsed(rule: str) -> ast.expr:
    return ast.parse(python_spelling(rule), mode="eval").body


def python_spelling(rule: str) -> str:
    """The rule with Python's words for and, or, not, true and false; strings stay as they are."""
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


def _chain(node: ast.BoolOp, scope: Scope) -> bool:
    parts = (bool(_value(each, scope)) for each in node.values)
    return all(parts) if isinstance(node.op, ast.And) else any(parts)


def _compared(node: ast.Compare, scope: Scope) -> Any:
    return _COMPARE[type(node.ops[0])](_value(node.left, scope), _value(node.comparators[0], scope))


def _sum(node: ast.BinOp, scope: Scope) -> Any:
    left, right = _value(node.left, scope), _value(node.right, scope)
    return left + right if isinstance(node.op, ast.Add) else left - right


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
    ast.BoolOp: _chain,
    ast.BinOp: _sum,
    ast.Compare: _compared,
    ast.Call: _call,
}
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
