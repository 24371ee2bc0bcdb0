"""Every limit that the CRD sets is held by the API server: a value beyond it is refused, with the field's path."""

import copy
import pathlib
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from tests.wire.api import Api, Object, Refused
from tests.wire.world import World, sis

_CRD = pathlib.Path(__file__).parents[2] / "crds" / "serving.specdec.io_speculativeinferenceservices.yaml"
_CREATE = "/apis/serving.specdec.io/v1alpha1/namespaces/{}/speculativeinferenceservices"
Path = tuple[str, ...]
KINDS = ("maxLength", "maxItems", "maxProperties", "minimum", "maximum", "enum", "pattern")


def _spec() -> dict[str, Any]:
    crd = yaml.safe_load(_CRD.read_text())
    schema: dict[str, Any] = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    return schema


def _beyond(schema: dict[str, Any], kind: str) -> Any:
    """A value of the right type on the other side of a limit."""
    limit = schema[kind]
    match kind:
        case "maxLength":
            return "x" * (limit + 1)
        case "maxItems":
            return [_some(schema["items"]) for _ in range(limit + 1)]
        case "maxProperties":
            inner = schema.get("additionalProperties")
            return {f"k{each}": _some(inner if isinstance(inner, dict) else {}) for each in range(limit + 1)}
        case "minimum":
            return limit - 1
        case "maximum":
            return limit + 1
        case _:
            return "\n no such word"


def _some(schema: dict[str, Any]) -> Any:
    """Any value of a type."""
    kinds: dict[str, Any] = {"object": {}, "array": [], "integer": 1, "number": 1, "boolean": True}
    return kinds.get(schema.get("type", "string"), "x")


def beyond(schema: dict[str, Any], kind: str, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Each field that has a limit of a kind, and a value beyond it."""
    if kind in schema:
        yield path, _beyond(schema, kind)
    for name, each in schema.get("properties", {}).items():
        yield from beyond(each, kind, (*path, name))
    if "items" in schema:
        yield from (
            (place, [value]) if place == path else (place, value) for place, value in _items(schema, kind, path)
        )


def _items(schema: dict[str, Any], kind: str, path: Path) -> Iterator[tuple[Path, Any]]:
    yield from beyond(schema["items"], kind, (*path, "0")) if schema["items"].get("type") == "object" else ()
    if kind in schema["items"]:
        yield path, _beyond(schema["items"], kind)


def put(body: Object, path: Path, value: Any) -> Object:
    """The object with a value at a path; what lies between is made."""
    made = copy.deepcopy(body)
    place = made["spec"]
    for name, following in zip(path, (*path[1:], ""), strict=True):
        if not following:
            place[int(name) if isinstance(place, list) else name] = value
        elif isinstance(place, list):
            place = place[0]
        else:
            if not isinstance(place.get(name), list if following == "0" else dict):
                place[name] = [{}] if following == "0" else {}
            place = place[name]
    return made


def told(path: Path) -> str:
    """The path as the API server writes it."""
    return "spec." + ".".join(path).replace(".0", "[0]")


@pytest.mark.parametrize("kind", KINDS)
async def test_a_value_beyond_a_limit_is_refused_with_its_path(api: Api, world: World, kind: str) -> None:
    """Each field of each kind of limit by itself; nothing is stored."""
    cases = list(beyond(_spec(), kind))
    assert cases, f"no field has {kind}"
    let_in = []
    for path, value in cases:
        body = put(sis(), path, value)
        try:
            await api.call("post", f"{_CREATE.format(world.namespace)}?dryRun=All", body)
        except Refused as error:
            if told(path) not in str(error):
                let_in.append(f"{told(path)}: refused without a word about it: {str(error)[:300]}")
        else:
            let_in.append(f"{told(path)}={str(value)[:40]!r}: let in")
    print(f"{kind}: {len(cases)} fields")
    assert let_in == []
