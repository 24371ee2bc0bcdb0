"""Reads values out of a config.json of any nesting: a value of another type than asked for counts as absent."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from specdec_engine.case import Json

LANGUAGE: Final = ("thinker_config", "text_config", "llm_config", "language_config")
"""Parts of composite models (vision, audio) that hold the language model's numbers, outermost first. The outer objects'
own numbers of the same name mean something else.
"""
SPECULATORS: Final = "transformer_layer_config"
"""Where checkpoints in the speculators' format keep the numbers of their layers."""
_INNER: Final = ("model", SPECULATORS)
"""Parts in which vLLM's own EAGLE format and speculators checkpoints keep what their outer object does not hold."""
_QUANTIZATION: Final = ("quantization_config", "compression_config")


def text_part(config: Json) -> Json:
    """The part about the language model; the config itself where it has no such part."""
    for name in LANGUAGE:
        if isinstance(part := config.get(name), Mapping):
            return text_part(part)
    return config


def whole(config: Json, *names: str) -> int | None:
    """The first of the names that holds a whole number (in lists: their first), None where none does."""
    for name in names:
        value: Any = config.get(name)
        if isinstance(value, list) and value:
            value = value[0]
        if isinstance(value, int) and not isinstance(value, bool):
            return value
    return None


def quantization_section(*places: Json) -> Json:
    """How the weights are quantised, by the first place that shows it; empty for weights without quantisation."""
    sections = (place.get(name) for place in places for name in _QUANTIZATION)
    return next((each for each in sections if isinstance(each, Mapping) and each), {})


@dataclass(frozen=True, kw_only=True, slots=True)
class Config:
    """A config.json that parsed as an object."""

    document: Json

    def number(self, key: str) -> int | None:
        """Return a whole number of the language model, also where its config is nested."""
        values = (text_part(self.document).get(key), *self._values(key))
        return next((v for v in values if isinstance(v, int) and not isinstance(v, bool)), None)

    def has(self, key: str) -> bool:
        """Whether a key is there with any value but null."""
        return any(value is not None for value in self._values(key))

    def text(self, key: str) -> str | None:
        """Return a non-empty string."""
        return next((value for value in self._values(key) if isinstance(value, str) and value), None)

    def flag(self, key: str) -> bool | None:
        """Return a truth value."""
        return next((value for value in self._values(key) if isinstance(value, bool)), None)

    def numbers(self, key: str) -> tuple[int, ...] | None:
        """Return a list of whole numbers."""
        for value in self._values(key):
            if isinstance(value, list) and all(isinstance(each, int) for each in value):
                return tuple(value)
        return None

    def section(self, key: str) -> "Config":
        """Return a nested object; an empty one where there is none."""
        section = next((value for value in self._values(key) if isinstance(value, Mapping)), {})
        return Config(document=section)

    @property
    def architectures(self) -> tuple[str, ...]:
        """The names under `architectures`, the outer ones first."""
        for value in self._values("architectures"):
            if isinstance(value, list):
                return tuple(each for each in value if isinstance(each, str))
        return ()

    @property
    def model_type(self) -> str:
        """The outermost model_type, or nothing."""
        value = self.document.get("model_type")
        return value if isinstance(value, str) else ""

    @property
    def dtype(self) -> str | None:
        """The type of the weights, by its name of before and after transformers 5."""
        return self.text("dtype") or self.text("torch_dtype")

    @property
    def quantization(self) -> str | None:
        """The name of the quantisation, or None for plain weights; a section without a name is called `unnamed`."""
        section = quantization_section(self.document, *self._parts())
        return (Config(document=section).text("quant_method") or "unnamed") if section else None

    def _values(self, key: str) -> list[object]:
        """Return all values of a key, the outermost first."""
        own = [self.document[key]] if key in self.document else []
        return [*own, *(part[key] for part in self._parts() if key in part)]

    def _parts(self) -> list[Json]:
        """Return the language model's part, and what the outermost object leaves to an inner one."""
        text, inner = text_part(self.document), (self.document.get(name) for name in _INNER)
        parts = [] if text is self.document else [text]
        return [*parts, *(each for each in inner if isinstance(each, Mapping))]
