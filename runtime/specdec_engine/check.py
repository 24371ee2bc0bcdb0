"""The engine's own verdict on a case, and ours, as rules."""

from collections.abc import Callable, Iterator
from typing import Final

from specdec_engine.case import Case
from specdec_engine.resolve import Resolved, resolve
from specdec_engine.rule import Finding, engine_rules
from specdec_engine.rules import (
    ascend,
    cpu,
    features,
    flags_and_keys,
    graphs,
    heads,
    methods,
    model_folders,
    model_runner,
    parallelism,
    pitfalls,
    reach,
    sampling,
    scheduling,
    tokens,
    vocabulary_and_context,
)

CHECKS: Final[tuple[Callable[[Resolved], Iterator[Finding]], ...]] = (
    flags_and_keys.versions,
    flags_and_keys.flags,
    flags_and_keys.keys,
    methods.methods,
    model_folders.folders,
    model_folders.quantization,
    tokens.number,
    methods.lookups,
    methods.hidden_states,
    parallelism.check,
    parallelism.devices,
    vocabulary_and_context.context_length,
    sampling.check,
    vocabulary_and_context.vocabulary,
    heads.heads,
    heads.mtp,
    scheduling.batch_slots,
    scheduling.async_scheduling,
    model_runner.check,
    tokens.schedule,
    features.check,
    graphs.check,
    pitfalls.check,
    reach.check,
    cpu.check,
    ascend.check,
)
"""In the order in which the engine looks."""
RULES: Final = tuple(engine_rules().values())


def check(case: Case) -> tuple[Finding, ...]:
    """Every rule that the case breaks, in the order in which the engine would look. Never raises.

    Rules about what is not known find nothing. A command line's own faults are found by `command_line.read`.
    """
    return found(resolve(case))


def found(resolved: Resolved) -> tuple[Finding, ...]:
    """The same, of a case that is settled already."""
    findings = (finding for each in CHECKS for finding in each(resolved))
    return tuple(finding for finding in findings if finding.rule.holds(resolved.case.build))
