"""Everything that is judged together, and the questions that several checks ask of it. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from specdec_engine.methods import HEADS, plain_name

if TYPE_CHECKING:
    from specdec_engine.resolve import Resolved
    from specdec_engine.rule import Finding
    from specdec_runtime.flags import Flags
    from specdec_runtime.preflight.artifact import ModelFolder
    from specdec_runtime.preflight.surroundings import Surroundings


@dataclass(frozen=True, kw_only=True, slots=True)
class PreflightCase:
    """A target, what shall draft for it, how, and where.

    resolved: what the engine makes of it, without a look at weights. by_engine: what rules about engines find.
    """

    target: ModelFolder
    draft: ModelFolder | None
    flags: Flags
    around: Surroundings
    resolved: Resolved
    by_engine: tuple[Finding, ...]

    @property
    def method(self) -> str | None:
        """The method; every old name of an MTP method is `mtp`."""
        return plain_name(self.flags.method) if self.flags.method else None

    @property
    def tokens(self) -> int | None:
        """K, the number of tokens that are drafted at once; None if the flags do not set it."""
        return whole(self.option("num_speculative_tokens"))

    @property
    def load_weights(self) -> bool:
        """Whether the engine will read weights at all."""
        return self.flags.load_format != "dummy"

    @property
    def artifacts(self) -> tuple[ModelFolder, ...]:
        """The target and, if there is one, the draft."""
        return (self.target,) if self.draft is None else (self.target, self.draft)

    @property
    def head(self) -> ModelFolder | None:
        """The draft if it is a head on the target's hidden states; else None."""
        return self.draft if self.method in (*HEADS, "dspark") else None

    @property
    def heterogeneous(self) -> bool:
        """Whether target and draft may have vocabularies of their own."""
        return bool(self.option("use_heterogeneous_vocab"))

    @property
    def pair(self) -> tuple[ModelFolder, ModelFolder] | None:
        """Target and draft where the draft is a language model of its own that must share the vocabulary."""
        if self.draft is None or self.method != "draft_model" or self.heterogeneous:
            return None
        return self.target, self.draft

    def broken(self, *rules: str, field: str = "") -> Finding | None:
        """Return what one of some rules about engines found, at a field where one is named; None: nothing."""
        found = (each for each in self.by_engine if each.rule.id in rules and each.field.startswith(field))
        return next(found, None)

    def option(self, key: str) -> object:
        """Return a value of the speculative config."""
        return (self.flags.speculation or {}).get(key)


def whole(value: object) -> int | None:
    """Return a whole number, or None for any other value."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None
