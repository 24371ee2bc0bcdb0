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
    """Whether the baseline is measured before speculation begins."""

    NONE = "None"
    MEASURE_FIRST = "MeasureFirst"


class Response(StrEnum):
    """The steps of the guard when windows fail."""

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
    """Baseline time per output token / that with speculation, at the same load."""

    min: Annotated[float, Field(gt=0, le=100)] = Field(description="Below this, a window fails.")


class TimePerOutputToken(Part):
    """Mean time between two tokens of one answer."""

    max: Duration = Field(description="Above this, a window fails, with or without speculation.")


class Retry(Part):
    """How often speculation is tried again after a rollback, without being asked."""

    after: Duration = Field(
        "6h",
        validate_default=True,
        description=("Time from the rollback to the next retry. It doubles after each retry."),
    )
    limit: Annotated[int, Field(ge=0, le=100)] = Field(
        3, description="Number of automatic retries; 0: none. After one day without a rollback the count starts again."
    )


class DialMode(StrEnum):
    """Whether the number of draft tokens can be changed in running pods."""

    AUTO = "Auto"
    OFF = "Off"


class TokensMode(StrEnum):
    """What follows if another number of draft tokens is faster at some load."""

    RECOMMEND = "Recommend"
    ADAPT = "Adapt"


class Dial(Part):
    """The number of draft tokens of running engines, changed in a second and without a rollout."""

    model_config = rules(
        rule(
            "!has(self.settle) || duration(self.settle) >= duration('2m')",
            "settle must be at least 2m: a pod has 20 s to follow, and four probes are spread over that time",
            ".settle",
        ),
    )

    mode: DialMode = Field(
        DialMode.AUTO,
        description="Auto: pods whose engine allows it have a dial, which the guard and annotation specdec.io/dial "
        "set. Off: none.",
    )
    settle: Duration = Field(
        "10m",
        validate_default=True,
        description="Time for which the guard only dials off before it rolls back. If acceptance recovers in that "
        "time, the dial goes back up.",
    )


class Prometheus(Part):
    """A Prometheus server that scrapes the pods."""

    url: Annotated[str, Field(max_length=512, pattern=r"^https?://[^\s/@?#]+(/[^\s@?#]*)?$")] = Field(
        description="URL of the server, such as http://prometheus.monitoring:9090. The operator appends /api/v1/query."
    )
    pod_label: Label = Field("pod", description="Label with the name of the pod.")
    namespace_label: Label = Field("namespace", description="Label with the namespace of the pod.")


class Scheme(StrEnum):
    """How the pods' metrics are asked for."""

    HTTP = "HTTP"
    HTTPS = "HTTPS"


class Reference(Part):
    """A text in a ConfigMap or Secret of the service's namespace."""

    name: Annotated[str, Field(min_length=1, max_length=253, pattern=r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$")] = Field(
        description="Name of the object."
    )
    key: Annotated[str, Field(min_length=1, max_length=253, pattern=r"^[-._a-zA-Z0-9]+$")] = Field(
        description="Key in its data."
    )


class PodSource(Part):
    """How the operator reads the pods themselves, if their metrics need TLS or a token, or have a port of their own."""

    model_config = rules(
        rule(
            "(has(self.scheme) && self.scheme == 'HTTPS')"
            " || !(has(self.serverName) || has(self.caConfigMap) || has(self.tokenSecret))",
            "serverName, caConfigMap and tokenSecret need scheme HTTPS: over HTTP a token could be read on the way",
            ".scheme",
        )
    )

    scheme: Scheme = Field(Scheme.HTTP, description="HTTP or HTTPS.")
    port: Annotated[int, Field(ge=1, le=65535)] | None = Field(
        None, description="Port of /metrics, such as a sidecar's. Default: the engine's."
    )
    server_name: (
        Annotated[str, Field(min_length=1, max_length=253, pattern=r"^[a-zA-Z0-9]([-a-zA-Z0-9.]*)$")] | None
    ) = Field(None, description="Name that the certificate must be for. Default: the address of the pod.")
    ca_config_map: Reference | None = Field(
        None,
        description="CA certificates (PEM) that the pods' certificates are checked with. Default: those of the "
        "operator's image. The operator needs a Role that names this ConfigMap.",
    )
    token_secret: Reference | None = Field(
        None,
        description="Bearer token that the operator sends to the pods. It needs a Role that names this Secret.",
    )


class Source(Part):
    """Where the pods' metrics are read: exactly one of both."""

    model_config = rules(
        rule("has(self.prometheus) != has(self.pods)", "set exactly one of prometheus and pods"),
    )

    prometheus: Prometheus | None = Field(
        None,
        description=(
            "A Prometheus server that scrapes the pods, for clusters in which the operator cannot reach them directly."
        ),
    )
    pods: PodSource | None = Field(None, description="The pods themselves, over HTTPS, with a token or at a port.")


def _of_the_reader(schema: JsonDict) -> None:
    """Takes the default out of the schema: the API server would write it, and it depends on what is guarded."""
    schema.pop("default", None)


class Guard(Part):
    """When the guard takes speculation out. A window with too little evidence never counts against speculation."""

    model_config = rules(
        rule("duration(self.interval) >= duration('1s')", "interval must be at least 1s", ".interval"),
        rule("duration(self.window) >= duration(self.interval)", "window must be at least one interval", ".window"),
        rule(
            "!has(self.response) || self.response == ['RollBack'] || self.response == ['ReduceTokens', 'RollBack']",
            "response must be [RollBack] or [ReduceTokens, RollBack]: the last step is always a rollback",
            ".response",
        ),
        rule(
            "!has(self.retry) || !has(self.retry.after) || duration(self.retry.after) >= duration('1s')",
            "after must be at least 1s, because each retry replaces all pods",
            ".retry.after",
        ),
        rule(
            "!has(self.timePerOutputToken) || duration(self.timePerOutputToken.max) > duration('0s')",
            "max must be more than 0s, because otherwise every window fails",
            ".timePerOutputToken.max",
        ),
        rule(
            "!has(self.downtimeBudget) || duration(self.downtimeBudget) > duration('0s')",
            "downtimeBudget must be more than 0s, because each failure takes time",
            ".downtimeBudget",
        ),
        rule(
            "!has(self.speedup) || !has(self.mode) || self.mode != 'Off'",
            "mode is Off, so the guard compares nothing; remove speedup, or set mode Observe or Enforce",
            ".speedup",
        ),
    )

    mode: GuardMode = Field(
        GuardMode.ENFORCE,
        description="Enforce: the guard acts. Observe: the guard only reports what it would do. Off: the guard judges "
        "nothing. Default: Enforce; Observe if the service guards an existing InferenceService or "
        "Deployment.",
        json_schema_extra=_of_the_reader,
    )
    interval: Duration = Field("15s", validate_default=True, description="Time between two reads of the pods' metrics.")
    window: Duration = Field("2m", validate_default=True, description="Length of one window. Windows do not overlap.")
    warmup: Duration = Field(
        "1m",
        validate_default=True,
        description="Time during which the guard does not judge: after a rollout, and for each pod that starts later.",
    )
    failure_limit: Annotated[int, Field(ge=1, le=100)] = Field(
        3,
        description="Number of failing windows in a row that end speculation: slower than the baseline, nothing "
        "drafted, or acceptance below 0.6 of its minimum.",
    )
    regret_budget: Annotated[float, Field(gt=0, le=1000)] = Field(
        2.0,
        description="Acceptance that may be lost before speculation ends, in points below its minimum x hours. 2 "
        "means 20 points for 6 minutes, or 10 points for 13 minutes: with windows of two minutes, 8 and 14.",
    )
    downtime_budget: Duration | None = Field(
        None,
        description="Time of a day for which a pod may be unavailable because its engine fails, reload included. "
        "Three failures or more that take longer end speculation. Default: 30m.",
    )
    min_draft_tokens: Annotated[int, Field(ge=1)] = Field(
        1000, description="A window with fewer drafted tokens is inconclusive."
    )
    acceptance_rate: AcceptanceRate | None = Field(
        None, description="Default: depends on the method, see status.guard.thresholds."
    )
    acceptance_length: AcceptanceLength | None = None
    speedup: Speedup | None = None
    time_per_output_token: TimePerOutputToken | None = None
    baseline: Baseline | None = Field(
        None,
        description="MeasureFirst: the service first runs without speculation for at most ten windows, to measure the "
        "baseline speed by load. None: no such measurement. Default: MeasureFirst if speedup or "
        "timePerOutputToken is set.",
    )
    control: Control | None = Field(
        None, description="Baseline pods for comparison. Default: OnDoubt. A doubt needs speedup or timePerOutputToken."
    )
    collateral: Collateral | None = Field(None, description="Default: no limit.")
    response: Annotated[list[Response], Field(min_length=1, max_length=2)] | None = Field(
        None, description="The steps that the guard takes, in this order. Default: RollBack."
    )
    roll_back_to: RollBackTo | None = Field(
        None,
        description="LastGood: the last other speculation that passed a window, or the baseline if there is none. "
        "Baseline: no speculation. Default: LastGood.",
    )
    retry: Retry | None = Field(
        None, description=("Default: after 6h, 3 times. A rollback that you requested is never retried.")
    )
    dial: Dial | None = Field(None, description="Default: mode Auto.")
    tokens: TokensMode | None = Field(
        None,
        description="If dips show that another number of draft tokens is faster at some load: Recommend: "
        "status.guard.recommendation has it. Adapt: with mode Enforce, the dial of the running pods sets it by load. "
        "Default: Recommend.",
    )
    source: Source | None = Field(None, description="Default: read from the pods directly.")
    health: Health | None = Field(
        None,
        description="Degraded: a rolled back service has Stalled=True, and GitOps tools show a failure although it "
        "answers requests. Default: Healthy.",
    )

    @property
    def dials(self) -> bool:
        """Whether pods are to have a dial, if their engine allows it."""
        return self.dial is None or self.dial.mode is DialMode.AUTO

    @property
    def adapts(self) -> bool:
        """Whether the guard itself sets the tokens by load."""
        return self.tokens is TokensMode.ADAPT

    @property
    def settle(self) -> float:
        """Seconds for which the guard only dials off before it rolls back."""
        return (self.dial or Dial()).settle

    @property
    def reads_pods(self) -> bool:
        """Whether the operator reads the pods themselves, and not a Prometheus server."""
        return self.source is None or self.source.prometheus is None

    @property
    def measures_first(self) -> bool:
        """Whether the baseline is measured before speculation begins."""
        if self.baseline is None:
            return self.speedup is not None or self.time_per_output_token is not None
        return self.baseline is Baseline.MEASURE_FIRST

    @property
    def control_mode(self) -> ControlMode:
        """When baseline pods run for comparison. A doubt needs speedup or timePerOutputToken."""
        return self.control.mode if self.control else ControlMode.ON_DOUBT
