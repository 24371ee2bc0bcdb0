"""Reads values out of a config.json of any nesting. Pure: a value of another type than asked for counts as absent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

_LANGUAGE: Final = ("text_config", "llm_config", "language_config")
"""Where multimodal models keep the language model's numbers; their own of the same name mean something else."""
_INNER: Final = ("model", "transformer_layer_config")
"""Where vLLM's own EAGLE format and speculators checkpoints keep what their outer object does not say."""
Document = Mapping[str, object]


@dataclass(frozen=True, kw_only=True, slots=True)
class Config:
    """A config.json that parsed as an object."""

    document: Document

    def number(self, key: str) -> int | None:
        """Return a whole number of the language model, also where its config is nested."""
        values = (*self._nested(_LANGUAGE, key), *self._values(key))
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

    def section(self, key: str) -> Config:
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
        for key in ("quantization_config", "compression_config"):
            if any(isinstance(value, Mapping) and value for value in self._values(key)):
                return self.section(key).text("quant_method") or "unnamed"
        return None

    def _values(self, key: str) -> list[object]:
        """Return all values of a key, the outermost first."""
        own = [self.document[key]] if key in self.document else []
        return [*own, *self._nested((*_LANGUAGE, *_INNER), key)]

    def _nested(self, names: tuple[str, ...], key: str) -> list[object]:
        places = [place for name in names if isinstance(place := self.document.get(name), Mapping)]
        return [place[key] for place in places if key in place]
