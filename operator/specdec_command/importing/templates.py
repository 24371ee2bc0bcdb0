"""KServe's templates in the engine's container: `{{.Name}}` is the name of the InferenceService.

KServe fills them in for a predictor with a model (ReplacePlaceholders). In other containers they have no effect, and
their author wanted the same.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

from specdec_command.importing.manifest import Lost
from specdec_command.importing.source import named

_FIELD: Final = re.compile(r"\{\{-?\s*\.(Name|Namespace)\s*-?\}\}")
_ENTRY: Final = re.compile(
    r"""\{\{-?\s*(?:\.(Labels|Annotations)\.(\w+)|index\s+\.(Labels|Annotations)\s+["`]([^"`]+)["`])\s*-?\}\}"""
)
_ANY: Final = re.compile(r"\{\{.*?\}\}", re.DOTALL)
_ENGINES: Final = ("model", "containers")
_GONE: Final = object()


def filled(service: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[Lost, ...]]:
    """The InferenceService with values instead of templates, and the templates that have no value here."""
    body = dict(service)
    spec = body.get("spec")
    predictor = spec.get("predictor") if isinstance(spec, Mapping) else None
    if not isinstance(spec, Mapping) or not isinstance(predictor, Mapping):
        return body, ()
    meta = body.get("metadata")
    values = _values(meta if isinstance(meta, Mapping) else {})
    lost: list[Lost] = []
    engines = {
        part: _without_unfilled(_filled(predictor[part], values), f"spec.predictor.{part}", named(service)[1], lost)
        for part in _ENGINES
        if part in predictor
    }
    body["spec"] = {**spec, "predictor": {**predictor, **engines}}
    return body, tuple(lost)


def _values(meta: Mapping[str, Any]) -> dict[tuple[str, str], str]:
    values = {(key, ""): str(meta[key.lower()]) for key in ("Name", "Namespace") if meta.get(key.lower())}
    for key in ("Labels", "Annotations"):
        inner = meta.get(key.lower())
        values |= {
            (key, str(name)): str(value) for name, value in (inner if isinstance(inner, Mapping) else {}).items()
        }
    return values


def _filled(value: Any, values: Mapping[tuple[str, str], str]) -> Any:
    if isinstance(value, dict):
        return {key: _filled(inner, values) for key, inner in value.items()}
    if isinstance(value, list):
        return [_filled(inner, values) for inner in value]
    if not isinstance(value, str) or "{{" not in value:
        return value
    value = _FIELD.sub(lambda found: values.get((found[1], ""), found[0]), value)
    return _ENTRY.sub(lambda found: values.get((found[1] or found[3], found[2] or found[4]), found[0]), value)


def _without_unfilled(value: Any, path: str, namespace: str, lost: list[Lost]) -> Any:
    """The value without what still has a template, which is listed. A flag goes together with its value."""
    if isinstance(value, dict):
        kept = {key: _without_unfilled(each, f"{path}.{key}", namespace, lost) for key, each in value.items()}
        return {key: each for key, each in kept.items() if each is not _GONE}
    if isinstance(value, list):
        every: list[Any] = []
        for at, each in enumerate(value):
            inner = _of_entry(each, f"{path}[{at}]", namespace, lost)
            if inner is _GONE and every and path.endswith(".args") and _takes_next(every[-1]):
                every.pop()
            every += [] if inner is _GONE else [inner]
        return every
    if not isinstance(value, str) or not (found := _ANY.search(value)):
        return value
    way_out = "write the value into the service"
    if not namespace and "Namespace" in found[0]:
        way_out = "name the namespace with -n, and import again"
    lost.append(Lost(field=path, why=f"`{value}`: {found[0]} has no value in the manifest", way_out=way_out))
    return _GONE


def _of_entry(each: Any, path: str, namespace: str, lost: list[Lost]) -> Any:
    """An entry of a list; one with a template in it, such as a variable, goes as a whole."""
    before = len(lost)
    inner = _without_unfilled(each, path, namespace, lost)
    return _GONE if len(lost) > before else inner


def _takes_next(word: Any) -> bool:
    return isinstance(word, str) and word.startswith("-") and "=" not in word
