"""What a rule is, how one is written down, and what it found."""

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from types import ModuleType
from typing import Any, Final

from specdec_engine.tables import table
from specdec_engine.version import NEWEST, OLDEST, Build, Flavor, holds, minor_text


class Severity(StrEnum):
    """What follows from a finding."""

    REFUSED = "refused"
    """It is not deployed: the engine would not start, or would do something else than asked."""
    WARNED = "warned"
    """It is deployed, with a condition and an Event."""
    NOTED = "noted"
    """Only the command line shows it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One thing that is known about the engine.

    id: stable name, such as K-POSITIVE.
    `says`: the rule as one sentence, without the value that broke it.
    source: where the rule comes from: the engine's file and function, or the recording.
    stricter: the engine's configuration accepts it; it fails later or silently does something else.
    since, until: the vLLM versions it holds for, inclusive; empty: all that are known.
    flavors: the distributions it holds for; empty: all of them.
    """

    id: str
    severity: Severity
    says: str
    source: str
    stricter: bool = False
    since: str = ""
    until: str = ""
    flavors: tuple[Flavor, ...] = ()

    def holds(self, build: Build) -> bool:
        """Whether the rule is about this engine."""
        return (not self.flavors or build.flavor in self.flavors) and holds(build.vllm, self.since, self.until)

    def broken(self, field: str, value: object, message: str) -> "Finding":
        """What it found: at which place, which value, and what to do."""
        return Finding(rule=self, field=field, value=value, message=message)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A rule that was broken, where, and by which value.

    field: the engine's own name of the place: `speculative_config.num_speculative_tokens`, `args.max_num_seqs`,
        `draft.vocab_size`, `target.model_type`.
    message: one sentence with the value, the limit and the way out.
    """

    rule: Rule
    field: str
    value: object
    message: str


def rules_in(*modules: ModuleType) -> tuple[Rule, ...]:
    """Every rule that these modules declare, in the order in which they do."""
    return tuple(each for module in modules for each in vars(module).values() if isinstance(each, Rule))


def deployable(findings: tuple[Finding, ...]) -> bool:
    """Whether this project would deploy it."""
    return not any(each.rule.severity is Severity.REFUSED for each in findings)


@functools.cache
def engine_rules() -> Mapping[str, Rule]:
    """Every rule about engines by its id, in the order in which the engine looks; from the table."""
    rows = {name: row for rows in table("rules")["rules"].values() for name, row in rows.items()}
    return {name: _rule(name, **row) for name, row in rows.items()}


def _rule(name: str, *, severity: str, says: str, flavors: Sequence[str] = (), **more: Any) -> Rule:
    for place, release in (("{oldest}", OLDEST), ("{newest}", NEWEST)):
        says = says.replace(place, minor_text(release))
    return Rule(id=name, severity=Severity(severity), says=says, flavors=tuple(map(Flavor, flavors)), **more)


def broken(rule: str, field: str, value: object, message: str) -> Finding:
    """What a rule about engines found, by its id: at which place, which value, and what to do."""
    return engine_rules()[rule].broken(field, value, message)


def at_key(rule: str, key: str, value: object, message: str) -> Finding:
    """What a rule found at a key of the speculative configuration."""
    return broken(rule, f"speculative_config.{key}", value, message)


def at_flag(rule: str, flag: str, value: object, message: str) -> Finding:
    """What a rule found at a flag, by its Python name."""
    return broken(rule, f"args.{flag}", value, message)


_LONGEST: Final = 80


def shown(value: object) -> str:
    """A value for a message: as Python writes it, cut where it is long."""
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
