"""What the guard keeps in the status: its decisions, what it measured, and what it would recommend."""

from pydantic import Field

from specdec_operator.api.types import StatusPart, Time
from specdec_operator.schema.comparison_status import Control, Pair, PlainSpeed, Trial


class FewerTokens(StatusPart):
    """Estimate for fewer tokens per step in the last measured window."""

    tokens: int = Field(description="Tokens per step.")
    rate: float = Field(description="Accepted / drafted tokens; the lower bound if rateHigh is present.")
    rate_high: float | None = Field(
        None, description="Upper bound, present if drafts end before K and the engine does not count their lengths."
    )
    length: float = Field(description="Tokens that one step of the target yields.")
    speedup: float | None = Field(None, description="Estimated speedup compared with the baseline.")
    passes: bool | None = Field(
        None, description="Whether all thresholds would be met; absent if the result is within chance."
    )


class Recommendation(StatusPart):
    """The recommended change of K, whether the guard acts on it or not."""

    tokens: int = Field(description="Tokens per step; 0: no speculation.")
    message: str = Field(description="Reason, with numbers.")


class LastGood(StatusPart):
    """A speculation that passed a full window."""

    block: str = Field(description="Its spec.speculation, as JSON.")
    digest: str = Field(description="Hash of this speculation.")
    of: str = Field(description="Hash of the speculation that was requested at that time.")
    tokens: int = Field(description="Tokens per step.")
    rate: float = Field(description="Accepted / drafted tokens.")
    at: Time = Field(description="Time at which it first passed.")
    lowered: int | None = Field(
        None, description=("Number of steps of 0.05 of the device by which its memory was lowered.")
    )


class Thresholds(StatusPart):
    """What the guard compares with, defaults filled in."""

    acceptance_rate: float | None = Field(None, description="Minimum of accepted / drafted tokens.")
    acceptance_length: float | None = Field(None, description="Minimum of 1 + accepted tokens / drafts.")
    min_draft_tokens: int | None = Field(None, description="Minimum of drafted tokens in a window.")
    speedup: float | None = Field(None, description="Minimum speedup compared with the baseline at the same load.")
    time_per_output_token_ms: float | None = Field(None, description="Maximum, in milliseconds.")


class Rollback(StatusPart):
    """Why another speculation is served than asked for, or none."""

    reason: str = Field(description="Reason, in one word.")
    message: str = Field(description="Reason, with numbers.")
    at: Time = Field(description="Time of the decision.")
    to: str = Field(
        "Baseline", description=("LastGood: the last other speculation that passed a window; Baseline: no speculation.")
    )
    good: LastGood | None = Field(None, description="The speculation in use instead.")
    trial: Trial | None = Field(
        None, description=("Present while the rollback is provisional and the baseline is measured.")
    )


class Reduction(StatusPart):
    """Why fewer tokens are guessed per step than asked for."""

    reason: str = Field(description="Reason, in one word.")
    message: str = Field(description="Reason, with numbers.")
    at: Time = Field(description="Time of the decision.")
    tokens: int = Field(description="Tokens per step in use.")


class Lowering(StatusPart):
    """Why less memory is asked for than planned."""

    reason: str = Field(description="Reason, in one word.")
    message: str = Field(description="How the engine ran out of memory, and its memory settings at that start.")
    at: Time = Field(description="Time of the last decision.")
    steps: int = Field(description="Number of steps of 0.05 of the device by which the memory is lowered; at most two.")


class SetAside(StatusPart):
    """The decision that a try sets aside: one of the two."""

    rollback: Rollback | None = Field(None, description="The speculation that was in use before this retry.")
    reduced: Reduction | None = Field(None, description="Its tokens per step.")


class Would(StatusPart):
    """What the guard would have done, were it free to act."""

    action: str = Field(description="LowerMemory, RestartPod, ReduceTokens or RollBack.")
    reason: str = Field(description="Reason, in one word.")
    message: str = Field(description="Reason, with numbers.")
    at: Time = Field(description="When.")


class PodFailure(StatusPart):
    """A pod that failed after its rollout."""

    pod: str = Field(description="Its name.")
    reason: str = Field(description="OutOfMemory, EngineCrashed or NotReady.")
    message: str = Field(description="The failure, with the engine's last log lines.")
    ends: int = Field(description="Number of times its engine had ended at that time.")
    at: Time = Field(description="Time of the observation.")
    answered: bool = Field(False, description="Whether the guard has acted on it.")


class Finding(StatusPart):
    """Comparison of one measure in the last windows of both arms."""

    measure: str = Field(description="time-per-output-token, time-to-first-token, queue-time, ...")
    value: float = Field(
        description="Time per output token: baseline / speculation. Hit rate: the difference. Other measures: "
        "speculation / baseline."
    )
    low: float = Field(description="Lower end of its 95 % interval.")
    high: float = Field(description="Upper end.")
    limit: float = Field(description="The limit.")
    score: float = Field(description="Standard errors on the wrong side of the limit.")
    bound: float = Field(description="The score needed for a result.")
    windows: int = Field(description="Number of compared windows.")
    unlike: float = Field(
        description=("Ratio by which the traffic of both arms differs; above 1.1 the windows have less weight.")
    )


class GuardStatus(StatusPart):
    """What the guard knows and must not forget."""

    state: str = Field(
        description="MeasuringBaseline, RollingOut, WarmingUp, Watching, Responding, RolledBack, Stalled or Serving."
    )
    since: Time = Field(description="Time at which this state began.")
    revision: str | None = Field(None, description="Revision of the last finished rollout.")
    wanted: str | None = Field(None, description="Revision that is requested now.")
    wanted_since: Time | None = Field(
        None,
        description=(
            "Start of its rollout, or the time at which another pod became ready. The deadline of the rollout counts "
            "from here."
        ),
    )
    up: int = Field(0, description="Largest number of pods of that revision that were ready at the same time.")
    replacing: str | None = Field(None, description="Revision for which the cluster has no room next to the old pods.")
    speculation: str | None = Field(None, description="Hash of the speculation that these decisions apply to.")
    service: str | None = Field(None, description="Hash of the other served fields of the spec.")
    memory: str | None = Field(None, description="Hash of spec.memory.")
    regret: float = Field(
        0.0, description=("Acceptance lost recently, in points below its minimum x hours; compare regretBudget.")
    )
    failures: int = Field(0, description="Number of windows in a row that failed severely.")
    blamed: list[str] | None = Field(None, description="Pods that failed in all these windows; absent: all pods.")
    judged: Time | None = Field(None, description="Time at which the last counted window closed.")
    verdict: str | None = Field(None, description="Verdict of the last window: Pass, Fail or Inconclusive.")
    reason: str | None = Field(None, description="Reason of the verdict, in one word.")
    message: str | None = Field(None, description="Reason of the verdict, with numbers.")
    measuring: bool = Field(False, description="Whether the baseline is measured before speculation begins.")
    attempted: bool = Field(False, description="Whether that measurement has begun for this service.")
    rollback: Rollback | None = Field(None, description="Present while the service runs another speculation, or none.")
    reduced: Reduction | None = Field(None, description="Present while K is lower than requested.")
    lowered: Lowering | None = Field(None, description="Present once this speculation ran out of memory.")
    would: Would | None = Field(None, description="The action that mode Observe or a hold prevents.")
    held: bool = Field(False, description="Whether annotation specdec.io/hold keeps the guard from acting.")
    rollbacks: int = Field(0, description="Rollbacks so far.")
    retries: int = Field(0, description="Number of retries of this speculation.")
    set_aside: SetAside | None = Field(
        None,
        description=(
            "Present while pods of a retry start: the speculation that returns if the cluster has no room for them."
        ),
    )
    next_retry: Time | None = Field(None, description="Time at which the operator retries the requested speculation.")
    restarting: list[str] | None = Field(None, description="Pods that the guard is restarting.")
    restarts: int = Field(
        0, description=("Pods that the guard restarted, because they were far below the others or failed alone.")
    )
    pod_failures: list[PodFailure] | None = Field(
        None, description="Failures of the watched pods. Three within an hour count against speculation."
    )
    handled_retry: str | None = Field(None, description="Last handled value of annotation specdec.io/retry.")
    handled_rollback: str | None = Field(None, description="Last handled value of annotation specdec.io/rollback.")
    thresholds: Thresholds | None = Field(None, description="The thresholds that windows are compared with.")
    fewer_tokens: list[FewerTokens] | None = Field(
        None, description="Estimate for each smaller K in the last measured window."
    )
    recommendation: Recommendation | None = Field(
        None, description=("The recommended change of K, whether the guard acts on it or not.")
    )
    last_good: list[LastGood] | None = Field(None, description="Speculations that passed a full window; at most two.")
    baseline: list[PlainSpeed] | None = Field(None, description="Speed of the baseline by load.")
    control: Control | None = Field(None, description="Baseline pods for comparison; absent: none requested.")
    pairs: list[Pair] | None = Field(None, description="The last windows of both arms, oldest first; at most thirty.")
    unmeasured: int = Field(0, description="Number of windows in a row with traffic whose speed could not be compared.")
    doubts: int = Field(0, description="Number of doubts after which speculation stayed.")
    doubted: Time | None = Field(None, description="Time at which the last doubt ended.")
    armless: bool = Field(False, description="Whether no baseline pod could be compared in that doubt.")
    collateral: list[str] | None = Field(
        None, description="Measures that are worse with speculation than guard.collateral allows."
    )
    findings: list[Finding] | None = Field(None, description="Results of the comparison with baseline pods so far.")
