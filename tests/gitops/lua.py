"""Lua 5.1 with the libraries that Argo CD gives to a customization of argocd-cm: base, table, and a part of os."""

from typing import Any, Final

from lupa.lua51 import LuaRuntime, lua_type

_TAKEN: Final = ("string", "math", "io", "debug", "coroutine")
_OS: Final = ("time", "date")


def run(script: str, obj: dict[str, Any]) -> Any:
    """What a script returns about an object, in Python's own values. Raises lupa.LuaError for an error in Lua."""
    runtime: Any = LuaRuntime(register_eval=False, register_builtins=False)
    names = runtime.globals()
    for each in _TAKEN:
        names[each] = None
    for each in list(names.os):
        if each not in _OS:
            names.os[each] = None
    names.obj = _table(runtime, obj)
    return _value(runtime.execute(script))


def _table(runtime: Any, value: Any) -> Any:
    if isinstance(value, dict):
        return runtime.table_from({key: _table(runtime, part) for key, part in value.items()})
    if isinstance(value, list):
        return runtime.table_from([_table(runtime, part) for part in value])
    return value


def _value(found: Any) -> Any:
    if lua_type(found) != "table":
        return found
    keys = list(found)
    if keys and keys == list(range(1, len(keys) + 1)):
        return [_value(found[key]) for key in keys]
    return {key: _value(found[key]) for key in keys}
