"""The engine's own verdict on a case, and ours, as rules."""

from collections.abc import Callable, Iterator
from typing import Final

from specdec_operator.engine import argv
from specdec_operator.engine.case import Case
from specdec_operator.engine.rule import Finding, Rule
from specdec_operator.engine.rules import (
    ascend,
    command,
    context,
    folders,
    heads,
    hidden_states,
    keys,
    lookup,
    methods,
    parallel,
    platform,
    predicting,
    quantization,
    running,
    sampling,
    schedule,
    scheduling,
    serving,
    slots,
    tokens,
    versions,
    vocabulary,
)
from specdec_operator.engine.settled import Settled, settle

_Topic = Callable[[Settled], Iterator[Finding]]

_TOPICS: Final[tuple[tuple[_Topic, tuple[Rule, ...]], ...]] = tuple(
    (topic.check, topic.RULES)
    for topic in (
        versions,
        command,
        keys,
        methods,
        folders,
        quantization,
        tokens,
        lookup,
        hidden_states,
        parallel,
        context,
        sampling,
        vocabulary,
        heads,
        predicting,
        slots,
        scheduling,
        running,
        schedule,
        serving,
        platform,
        ascend,
    )
)

RULES: Final[tuple[Rule, ...]] = (*argv.RULES, *(rule for _, rules in _TOPICS for rule in rules))
"""Every rule, in the order in which the engine looks."""


def check(case: Case) -> tuple[Finding, ...]:
    """Every rule that the case breaks, in the order in which the engine would look. Never raises.

    Rules about facts that are not known find nothing. A command line's own faults are found by `argv.read`.
    """
    settled = settle(case)
    found = (each for topic, _ in _TOPICS for each in topic(settled))
    return tuple(each for each in found if each.rule.holds(case.build))
