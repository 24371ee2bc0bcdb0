"""What a rule is, and what it found."""

from dataclasses import dataclass
from enum import StrEnum

from specdec_operator.engine.version import Build, Flavor, holds


class Severity(StrEnum):
    """What follows from a finding."""

    REFUSED = "refused"
    """It is not deployed: the engine would not start, or would do something else than asked."""
    WARNED = "warned"
    """It is deployed, with a condition and an Event."""
    NOTED = "noted"
    """Only the command line says it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One thing that is known about the engine.

    id: stable name, such as K-POSITIVE.
    says: the rule as one sentence, without the value that broke it.
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


def engine_accepts(findings: tuple[Finding, ...]) -> bool:
    """Whether the engine's own configuration code would accept it."""
    return not any(each.rule.severity is Severity.REFUSED and not each.rule.stricter for each in findings)


def deployable(findings: tuple[Finding, ...]) -> bool:
    """Whether this project would deploy it."""
    return not any(each.rule.severity is Severity.REFUSED for each in findings)
