"""When speculation is taken out."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from specdec_operator.api.base import LATER, Part, rule, rules
from specdec_operator.api.units import Duration


class GuardMode(StrEnum):
    """What the guard may do."""

    ENFORCE = "Enforce"
    OBSERVE = "Observe"
    OFF = "Off"


class Baseline(StrEnum):
    """Whether the plain service is measured before speculation begins."""

    NONE = "None"
    MEASURE_FIRST = "MeasureFirst"


class Response(StrEnum):
    """What is tried when windows fail."""

    REDUCE_TOKENS = "ReduceTokens"
    ROLL_BACK = "RollBack"


class RollBackTo(StrEnum):
    """What is served after a rollback."""

    LAST_GOOD = "LastGood"
    BASELINE = "Baseline"


class Health(StrEnum):
    """What GitOps tools see after a rollback."""

    DEGRADED = "Degraded"
    HEALTHY = "Healthy"


class AcceptanceRate(Part):
    """Accepted draft tokens / drafted tokens."""

    min: Annotated[float, Field(ge=0, le=1)] = Field(description="Below this, a window fails.")


class AcceptanceLength(Part):
    """1 + accepted draft tokens / drafts: tokens that one step of the target yields."""

    min: Annotated[float, Field(ge=1)] = Field(description="Below this, a window fails.")


class Speedup(Part):
    """Plain time per output token / that with speculation, at the same load."""

    min: Annotated[float, Field(gt=0, le=100)] = Field(description="Below this, a window fails.")


class TimePerOutputToken(Part):
    """Mean time between two tokens of one answer."""

    max: Duration = Field(description="Above this, a window fails, with or without speculation.")


class Retry(Part):
    """Whether speculation is tried again after a rollback, without being asked."""

    after: Duration = Field(description="Time from the rollback to the next try; doubled after each.")
    limit: Annotated[int, Field(ge=1, le=100)] = Field(description="Tries until the user is asked.")


class Guard(Part):
    """When speculation is taken out. A window with too little evidence never counts against it."""

    model_config = rules(
        rule("duration(self.interval) >= duration('1s')", "interval must be at least 1s", ".interval"),
        rule(
            "duration(self.window) >= duration(self.interval)",
            "window must be at least one interval",
            ".window",
        ),
        rule("!has(self.speedup)", LATER.format("speedup"), ".speedup"),
        rule("!has(self.timePerOutputToken)", LATER.format("timePerOutputToken"), ".timePerOutputToken"),
        rule("!has(self.baseline) || self.baseline == 'None'", LATER.format("baseline: MeasureFirst"), ".baseline"),
        rule(
            "!has(self.response) || self.response == ['RollBack']", LATER.format("response: ReduceTokens"), ".response"
        ),
        rule(
            "!has(self.rollBackTo) || self.rollBackTo == 'Baseline'",
            LATER.format("rollBackTo: LastGood"),
            ".rollBackTo",
        ),
        rule("!has(self.retry)", LATER.format("retry"), ".retry"),
        rule("!has(self.health) || self.health == 'Healthy'", LATER.format("health: Degraded"), ".health"),
    )

    mode: GuardMode = Field(
        GuardMode.ENFORCE,
        description="Enforce acts; Observe only says what it would have done; Off does not look.",
    )
    interval: Duration = Field("15s", validate_default=True, description="Time between two looks at the pods' metrics.")
    window: Duration = Field("2m", validate_default=True, description="Length of one window. Windows do not overlap.")
    warmup: Duration = Field("1m", validate_default=True, description="Time after a rollout that is not judged.")
    failure_limit: Annotated[int, Field(ge=1, le=100)] = Field(
        3, description="Failing windows in a row that end speculation."
    )
    min_draft_tokens: Annotated[int, Field(ge=1)] = Field(
        1000, description="Fewer drafted tokens in a window prove nothing."
    )
    acceptance_rate: AcceptanceRate | None = Field(
        None, description="Default: by method, shown in status.guard.thresholds."
    )
    acceptance_length: AcceptanceLength | None = None
    speedup: Speedup | None = None
    time_per_output_token: TimePerOutputToken | None = None
    baseline: Baseline | None = Field(
        None, description="MeasureFirst serves plainly first and remembers its speed by load; None does not."
    )
    response: Annotated[list[Response], Field(min_length=1, max_length=2)] | None = Field(
        None, description="What is tried, in this order. Default: RollBack."
    )
    roll_back_to: RollBackTo | None = Field(
        None, description="LastGood: the last speculation that passed; Baseline: none. Default: Baseline."
    )
    retry: Retry | None = None
    health: Health | None = Field(
        None, description="Whether a rolled back service counts as Degraded for GitOps tools. Default: Healthy."
    )
