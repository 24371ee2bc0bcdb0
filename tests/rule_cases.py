"""Each rule of the CRD with a spec that it refuses and a similar one that it accepts: data/rule_cases.yaml.

tests/unit runs the offline check of `specdec validate`, tests/wire a real API server: both must give the same result.
"""

import pathlib
from dataclasses import dataclass
from typing import Any, Final

import yaml

Spec = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleCase:
    """message: the rule's own, or its end; field: the path that the API server names; bad, good: two specs."""

    message: str
    field: str
    bad: Spec
    good: Spec


_FILE: Final = pathlib.Path(__file__).parent / "data" / "rule_cases.yaml"
CASES: Final = tuple(RuleCase(**each) for each in yaml.safe_load(_FILE.read_text()))


def whole(spec: Spec) -> Spec:
    """The spec with a model, unless it sets the model to null."""
    every = {"model": {"uri": "pvc://models/target"}} | spec
    return {name: part for name, part in every.items() if part is not None}
