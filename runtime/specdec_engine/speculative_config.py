"""Reads a speculative configuration as its version of the engine does: which keys it knows, which values it takes."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from specdec_engine import coercion
from specdec_engine.case import Json
from specdec_engine.tables import cell_words, entries, in_release, row_holds, table
from specdec_engine.version import Version, holds

REFUSES_UNKNOWN_KEYS_SINCE: Final = "0.16"
TAKES_DASHES_SINCE: Final = "0.28"


@dataclass(frozen=True, slots=True, kw_only=True)
class Misread:
    """A value that the engine does not take, and what it wants instead."""

    key: str
    value: object
    wanted: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedConfig:
    """A speculative configuration after the engine's type checks.

    values: by key, converted; what is null or was not read is left out.
    unknown: the keys that the version does not know.
    misread: the values it does not take.
    """

    values: Json
    unknown: tuple[str, ...]
    misread: tuple[Misread, ...]

    def misreads(self, *keys: str) -> bool:
        """Whether the engine does not take the value of one of these keys."""
        return any(each.key in keys for each in self.misread)


def read(config: Json, version: Version) -> CheckedConfig:
    """What the engine understands of it. Never raises."""
    values: dict[str, Any] = {}
    unknown: list[str] = []
    misread: list[Misread] = []
    dashes = holds(version, TAKES_DASHES_SINCE)
    for key, value in ({key.replace("-", "_"): value for key, value in config.items()} if dashes else config).items():
        field = table("fields")["fields"].get(key)
        if field is None or not row_holds(field, version):
            unknown.append(key)
            continue
        try:
            values[key] = _value(field, value, version)
        except ValueError as wanted:
            misread.append(Misread(key=key, value=value, wanted=str(wanted)))
    kept = {key: value for key, value in values.items() if value is not None}
    return CheckedConfig(values=MappingProxyType(kept), unknown=tuple(unknown), misread=tuple(misread))


def takes(key: str, method: str) -> bool:
    """Whether a key has an effect with a method."""
    used_by = cell_words(table("fields")["fields"].get(key, {}).get("methods", "*"))
    return used_by == ["*"] or method in used_by


def _value(field: Mapping[str, Any], value: object, version: Version) -> Any:
    """The converted value. Raises ValueError with the expected form."""
    if value is None:
        if field["null"]:
            return None
        raise ValueError(f"{_wanted(field)}, not null")
    kind = field["type"]
    if kind in coercion.READERS:
        read_value = coercion.READERS[kind](value)
        if "min" in field and read_value < field["min"]:
            raise ValueError(f"{_wanted(field)} of at least {field['min']}")
        return read_value
    return _SPECIAL[kind](field, value, version)


def _wanted(field: Mapping[str, Any]) -> str:
    return {"int": "a whole number", "bool": "true or false", "float": "a number"}.get(field["type"], "a value")


def _enum(field: Mapping[str, Any], value: object, version: Version) -> Any:
    allowed = [cell_words(cell) for start, cell in field["values"].items() if holds(version, start)]
    if allowed and value in allowed[-1]:
        return value
    raise ValueError(f"one of {', '.join(allowed[-1])}" if allowed else "not a value that another version has")


def _method(_: Mapping[str, Any], value: object, version: Version) -> Any:
    word = table("methods")["methods"].get(value) if isinstance(value, str) else None
    if word is not None and row_holds(word, version):
        return value
    raise ValueError("a method that this version has")


def _listed(field: Mapping[str, Any], value: object, version: Version) -> Any:
    kind = field["type"]
    if "free_since" in field and holds(version, field["free_since"]):
        return coercion.text(value)
    if isinstance(value, str) and in_release("values", kind, value, version) is not False:
        return value
    raise ValueError(f"one of {', '.join(entries('values', kind, version))}")


def _backend(_: Mapping[str, Any], value: object, version: Version) -> Any:
    if isinstance(value, str) and value.lower() == "auto":
        return None
    if isinstance(value, str) and in_release("values", "attention_backend", value.upper(), version) is not False:
        return value.upper()
    raise ValueError(f"one of auto, {', '.join(entries('values', 'attention_backend', version))}")


def _load_config(_: Mapping[str, Any], value: object, version: Version) -> Any:
    if not isinstance(value, Mapping):
        raise ValueError("an object")
    if strange := [key for key in value if in_release("values", "load_config", str(key), version) is False]:
        raise ValueError(f"an object without {', '.join(strange)}")
    if not isinstance(value.get("load_format", ""), str):
        raise ValueError("an object whose load_format is a string")
    return value


def _internal(_: Mapping[str, Any], value: object, __: Version) -> Any:
    return value


_SPECIAL: Final = {
    "enum": _enum,
    "method": _method,
    "quantization": _listed,
    "kv_cache_dtype": _listed,
    "moe_backend": _listed,
    "attention_backend": _backend,
    "load_config": _load_config,
    "internal": _internal,
}
