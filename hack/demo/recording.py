"""All that was measured in one run, as plain values: what the report and the plot are made of."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from hack.demo.counters import Reading
from hack.demo.machine import Machine
from hack.demo.moments import Moments
from hack.demo.samples import Sample
from hack.demo.speed import Completion, Failure, Span


class Act(StrEnum):
    """What was measured: whether the service speculated, and what the traffic was about."""

    PLAIN_CODE = "plain_code"
    PLAIN_DRIFT = "plain_drift"
    CODE = "code"
    DRIFT = "drift"
    AFTER = "after"


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What the operator said about its rollback, in its own words."""

    reason: str
    message: str
    at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """One run. told: the acceptance in the status of the sis at the end of an act. minimum: what the guard asks for."""

    sample: Sample
    clients: int
    max_tokens: int
    kserve: str
    machine: Machine
    completions: tuple[Completion, ...]
    failures: tuple[Failure, ...]
    readings: tuple[Reading, ...]
    spans: Mapping[Act, Span]
    told: Mapping[Act, float | None]
    minimum: float
    moments: Moments
    decision: Decision
    steps: Mapping[str, float]
