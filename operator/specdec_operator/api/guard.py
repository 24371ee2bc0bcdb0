"""When speculation is taken out."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field
from pydantic.config import JsonDict

from specdec_operator.api.control import Collateral, Control, ControlMode
from specdec_operator.api.types import Duration, Part, rule, rules


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


Label = Annotated[str, Field(max_length=63, pattern=r"^[a-zA-Z_][a-zA-Z0-9_]*$")]
"""Name of a Prometheus label."""


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
    """How often speculation is tried again after a rollback, without being asked."""

    after: Duration = Field(
        "6h", validate_default=True, description="Time from the rollback to the next try; doubled after each."
    )
    limit: Annotated[int, Field(ge=0, le=100)] = Field(
        3, description="Tries until the user is asked; 0: none. A day that goes well renews them."
    )


class Prometheus(Part):
    """A Prometheus server that scrapes the pods."""

    url: Annotated[str, Field(max_length=512, pattern=r"^https?://[^\s/@?#]+(/[^\s@?#]*)?$")] = Field(
        description="Its address, such as http://prometheus.monitoring:9090; what follows it, /api/v1/query, is added."
    )
    pod_label: Label = Field("pod", description="Label that names the pod.")
    namespace_label: Label = Field("namespace", description="Label that names the pod's namespace.")


class Source(Part):
    """Where the pods' metrics are read."""

    prometheus: Prometheus = Field(description="A server that scrapes the pods, where they cannot be reached directly.")


def _of_the_reader(schema: JsonDict) -> None:
    """Takes the default out of the schema: the API server would write it, and it depends on what is guarded."""
    schema.pop("default", None)


class Guard(Part):
    """When speculation is taken out. A window with too little evidence never counts against it."""

    model_config = rules(
        rule("duration(self.interval) >= duration('1s')", "interval must be at least 1s", ".interval"),
        rule("duration(self.window) >= duration(self.interval)", "window must be at least one interval", ".window"),
        rule(
            "!has(self.response) || self.response == ['RollBack'] || self.response == ['ReduceTokens', 'RollBack']",
            "response is [RollBack] or [ReduceTokens, RollBack]: the last resort is no speculation",
            ".response",
        ),
        rule(
            "!has(self.retry) || !has(self.retry.after) || duration(self.retry.after) >= duration('1s')",
            "after must be at least 1s: each try rolls every pod out anew",
            ".retry.after",
        ),
        rule(
            "!has(self.timePerOutputToken) || duration(self.timePerOutputToken.max) > duration('0s')",
            "max must be more than 0s, or every window fails",
            ".timePerOutputToken.max",
        ),
        rule(
            "!has(self.speedup) || !has(self.mode) || self.mode != 'Off'",
            "the guard is Off: nothing is compared; leave speedup out or set mode Observe or Enforce",
            ".speedup",
        ),
    )

    mode: GuardMode = Field(
        GuardMode.ENFORCE,
        description="Enforce acts; Observe only says what it would have done; Off does not look. Default: Enforce; "
        "Observe where something is guarded that is there already.",
        json_schema_extra=_of_the_reader,
    )
    interval: Duration = Field("15s", validate_default=True, description="Time between two looks at the pods' metrics.")
    window: Duration = Field("2m", validate_default=True, description="Length of one window. Windows do not overlap.")
    warmup: Duration = Field("1m", validate_default=True, description="Time after a rollout that is not judged.")
    failure_limit: Annotated[int, Field(ge=1, le=100)] = Field(
        3,
        description="Failing windows in a row that end speculation: slower than plain, nothing drafted, or acceptance "
        "below 0.6 of its minimum.",
    )
    regret_budget: Annotated[float, Field(gt=0, le=1000)] = Field(
        2.0,
        description="Acceptance that may be lost before speculation ends, in points below its minimum x hours: 2 are "
        "20 points for 6 minutes, or 10 for 13.",
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
        None,
        description="MeasureFirst serves plainly first, for ten windows at most, and remembers its speed by load; None "
        "does not. Default: MeasureFirst where speedup or timePerOutputToken is asked for.",
    )
    control: Control | None = Field(None, description="Default: OnDoubt where speed is asked for.")
    collateral: Collateral | None = Field(None, description="Default: nothing is asked for.")
    response: Annotated[list[Response], Field(min_length=1, max_length=2)] | None = Field(
        None, description="What is tried, in this order. Default: RollBack."
    )
    roll_back_to: RollBackTo | None = Field(
        None,
        description="LastGood: the last other speculation that passed a window, none where there is none; "
        "Baseline: none. Default: LastGood.",
    )
    retry: Retry | None = Field(None, description="Default: after 6h, 3 times. What you rolled back is never retried.")
    source: Source | None = Field(None, description="Default: the pods themselves.")
    health: Health | None = Field(
        None,
        description="Degraded: a rolled back service has Stalled=True, which GitOps tools take for a failure, though "
        "it answers. Default: Healthy.",
    )

    @property
    def measures_first(self) -> bool:
        """Whether the plain service is measured before speculation begins."""
        if self.baseline is None:
            return self.speedup is not None or self.time_per_output_token is not None
        return self.baseline is Baseline.MEASURE_FIRST

    @property
    def control_mode(self) -> ControlMode:
        """When plain pods serve beside. A doubt needs something that is asked for, which speed or collateral is."""
        return self.control.mode if self.control else ControlMode.ON_DOUBT
