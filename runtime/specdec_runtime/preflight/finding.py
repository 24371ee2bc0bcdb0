"""The fields that only rules about model folders have, and preflight's names for severities."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final

from specdec_engine.rule import Finding, Rule, Severity

ROLE: Final = "*"
"""Stands in the id of a rule for the model that breaks it: Target or Draft."""
WORDS: Final = MappingProxyType({Severity.REFUSED: "refuse", Severity.WARNED: "warn", Severity.NOTED: "note"})
"""How preflight names what follows: the start is refused, a warning is logged, or something was not checked."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FolderRule(Rule):
    """One thing that must hold in the folders of models. docs/preflight.md is the table of all of them.

    id: the reason that the operator shows; `*` stands for Target or Draft. `says`: what must hold.
    when: the condition under which the rule is checked.
    without: what the engine does with such a model without the check.
    """

    when: str
    without: str

    def found(self, field: str, sentence: str, role: str = "") -> Finding:
        """Return the finding that this rule is broken by the value of a flag, in a sentence with value and way out."""
        return replace(self, id=self.id.replace(ROLE, role)).broken(field, None, sentence)
