"""Baseline pods for comparison, and the limits of what speculation may cost in addition to its speed."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from specdec_operator.api.types import Part


class ControlMode(StrEnum):
    """When baseline pods run next to the speculating ones."""

    ON_DOUBT = "OnDoubt"
    ALWAYS = "Always"
    NEVER = "Never"


class Control(Part):
    """Baseline pods of the same model that get an equal share of the traffic: speculation is compared with them."""

    mode: ControlMode = Field(
        ControlMode.ON_DOUBT,
        description="OnDoubt: one for a few windows, once the speed is in doubt; a service of one pod runs as "
        "baseline for a few windows instead. Always: `replicas` of them, all the time. Never: none.",
    )
    replicas: Annotated[int, Field(ge=1, le=100)] = Field(
        1, description="Baseline pods with mode Always, in addition to spec.replicas."
    )


class MaxRatio(Part):
    """With speculation / baseline."""

    max_ratio: Annotated[float, Field(gt=0, le=100)] = Field(description="Values above this are reported.")


class MaxDrop(Part):
    """Baseline less speculation."""

    max_drop: Annotated[float, Field(ge=0, le=1)] = Field(description="Values above this are reported.")


class MinRatio(Part):
    """With speculation / baseline."""

    min_ratio: Annotated[float, Field(gt=0, le=100)] = Field(description="Values below this are reported.")


class CollateralResponse(StrEnum):
    """What follows when speculation costs more than is allowed."""

    WARN = "Warn"
    ROLL_BACK = "RollBack"


class Collateral(Part):
    """Limits of measures other than speed. They are measured while baseline pods run next to the speculating ones."""

    time_to_first_token: MaxRatio | None = Field(None, description="Mean time to the first token of an answer.")
    queue_time: MaxRatio | None = Field(None, description="Mean time of a request in the queue.")
    preemptions: MaxRatio | None = Field(None, description="Preemptions per request.")
    prefix_hit_rate: MaxDrop | None = Field(None, description="Share of prompt tokens found in the prefix cache.")
    throughput: MinRatio | None = Field(None, description="Output tokens per second and pod.")
    response: CollateralResponse = Field(
        CollateralResponse.WARN,
        description="Warn reports it in status, Events and metrics; RollBack also takes speculation out.",
    )
