"""Specs by chance, out of the CRD's own schema: right in shape and bounds, whatever they mean together."""

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from specdec_operator.schema.crd import openapi

Schema = dict[str, Any]
SPEC: Schema = openapi()["properties"]["spec"]
_MOST = 10**6
URIS = (
    "pvc://models/target",
    "pvc://models",
    "pvc://other/draft",
    "pvc://models/draft",
    "hf://meta-llama/Llama-3.1-8B-Instruct",
    "hf://yuhuili/EAGLE3-LLaMA3.1-Instruct-8B:main",
    "s3://bucket/llama/draft",
    "gs://bucket/llama",
    "https://example.org/llama.tar.gz",
    "oci://registry.example/llama:1",
    "oci://registry.example/draft:1",
    "oci+native://registry.example/draft:1",
)
"""One or more of each kind."""
_ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
_OPTIONS = st.dictionaries(
    st.sampled_from(
        ["revision", "quantization", "attention_backend", "foo", "disable_padded_drafter_batch", "moe_backend"]
    ),
    st.booleans() | st.integers(-3, 300) | st.text(max_size=8),
    max_size=2,
)


def values(schema: Schema, path: str = "spec") -> st.SearchStrategy[Any]:
    """Values that a schema takes."""
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    return _KINDS[schema["type"]](schema, path)


def _integer(schema: Schema, _: str) -> st.SearchStrategy[int]:
    return st.integers(schema.get("minimum", 0), min(schema.get("maximum", _MOST), _MOST))


def _number(schema: Schema, _: str) -> st.SearchStrategy[float]:
    low, high = schema.get("minimum", 0), min(schema.get("maximum", _MOST), _MOST)
    return st.floats(low, high, exclude_min=bool(schema.get("exclusiveMinimum")))


def _array(schema: Schema, path: str) -> st.SearchStrategy[list[Any]]:
    items = values(schema.get("items", {"type": "string"}), f"{path}[]")
    return st.lists(items, min_size=schema.get("minItems", 0), max_size=3)


def _text(schema: Schema, path: str) -> st.SearchStrategy[str]:
    if path.endswith(".uri"):
        return st.sampled_from(URIS)
    if path.endswith((".model.path", ".draft.path")):
        return st.sampled_from(["target", "draft", "a/b.c", "..", "a/./b"])
    if path == "spec.engine.args[]":
        return st.sampled_from(["--seed=1", "--enable-lora", "--max-num-batched-tokens=64", "--foo", "-x", ""])
    if schema.get("format") == "duration":
        return st.sampled_from(["1s", "90s", "2m", "1h30m", "250ms"])
    if "pattern" in schema:
        return st.from_regex(schema["pattern"], fullmatch=True).filter(lambda text: text.isascii() and len(text) <= 32)
    return st.text(st.characters(codec="ascii", min_codepoint=32), min_size=schema.get("minLength", 0), max_size=12)


def _object(schema: Schema, path: str) -> st.SearchStrategy[dict[str, Any]]:
    if path == "spec.speculation.options":
        return _OPTIONS
    if "properties" not in schema:
        return st.dictionaries(st.text("abc", min_size=1, max_size=3), st.text("xyz", max_size=3), max_size=2)
    parts = {name: values(part, f"{path}.{name}") for name, part in schema["properties"].items()}
    required = set(schema.get("required", ()))
    return st.fixed_dictionaries(
        {name: part for name, part in parts.items() if name in required},
        optional={name: part for name, part in parts.items() if name not in required},
    )


_KINDS: dict[str, Callable[[Schema, str], st.SearchStrategy[Any]]] = {
    "boolean": lambda *_: st.booleans(),
    "integer": _integer,
    "number": _number,
    "string": _text,
    "array": _array,
    "object": _object,
}


def garbage() -> st.SearchStrategy[Any]:
    """Specs whose parts are anything at all."""
    names = [*SPEC["properties"], "foo"]
    inner = [*SPEC["properties"]["speculation"]["properties"], "args", "uri", "foo"]
    part = _ANYTHING | st.dictionaries(st.sampled_from(inner), _ANYTHING, max_size=4)
    return _ANYTHING | st.dictionaries(st.sampled_from(names), part, max_size=5)
