"""What a look at the models may find: a rule, and a finding that breaks it. It decides nothing."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

ROLE: Final = "*"
"""Stands in the id of a rule for the model that breaks it: Target or Draft."""


class Severity(StrEnum):
    """What a finding leads to."""

    REFUSE = "refuse"
    """The start is refused: the server would not start, or speculation could not work."""

    WARN = "warn"
    """The start goes on and the sentence is logged."""

    NOTE = "note"
    """Nothing is wrong; it is said so that nobody takes it for checked."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Rule:
    """One thing that must hold. docs/preflight.md is the table of all of them."""

    id: str
    """The reason that the operator shows; `*` stands for Target or Draft."""
    severity: Severity
    when: str
    """What must be there for the rule to be asked."""
    says: str
    """What must hold."""
    without: str
    """What the engine does with such a model when nobody looks first."""
    source: str
    """Where that is known from: the engine's code, or a run."""

    def found(self, field: str, sentence: str, role: str = "") -> Finding:
        """Return the finding that this rule is broken by the value of a field."""
        return Finding(id=self.id.replace(ROLE, role), severity=self.severity, field=field, sentence=sentence)


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """One thing that is wrong. Its id is the reason that the operator shows."""

    id: str
    severity: Severity
    field: str
    sentence: str
    """`where has value: rule; way out`."""
