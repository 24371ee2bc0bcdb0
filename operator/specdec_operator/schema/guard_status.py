"""What the status has of the guard: its state, and the fields that only inform users."""

from dataclasses import dataclass, field
from typing import Any, Final

from pydantic import ConfigDict, Field

from specdec_operator.api.kept import KEPT, Time, means
from specdec_operator.api.types import StatusPart
from specdec_operator.guard.baseline_pods import MeasureFinding
from specdec_operator.guard.state import State
from specdec_operator.guard.what_if import Advice, Fewer


class ThresholdsStatus(StatusPart):
    """What the guard compares with, defaults filled in."""

    acceptance_rate: float | None = Field(None, description="Minimum of accepted / drafted tokens.")
    acceptance_length: float | None = Field(None, description="Minimum of 1 + accepted tokens / drafts.")
    min_draft_tokens: int | None = Field(None, description="Minimum of drafted tokens in a window.")
    speedup: float | None = Field(None, description="Minimum speedup compared with the baseline at the same load.")
    time_per_output_token_ms: float | None = Field(None, description="Maximum, in milliseconds.")


_TOLD_AFTER: Final = {
    "judged": ("verdict", "reason", "message"),
    "would": ("held",),
    "setAside": ("nextRetry",),
    "handledRollback": ("thresholds", "fewerTokens", "recommendation"),
}
"""Fields of the state, and the fields for users that follow each of them."""


def _in_order(schema: dict[str, Any]) -> None:
    """Places each field for users next to the field that it is about, in the CRD and on its page."""
    fields = schema["properties"]
    told = {name for names in _TOLD_AFTER.values() for name in names}
    order = [each for name in fields if name not in told for each in (name, *_TOLD_AFTER.get(name, ()))]
    schema["properties"] = {name: fields[name] for name in order}


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardStatus(State):
    """The state, with the fields that only inform users."""

    __pydantic_config__ = KEPT | ConfigDict(json_schema_extra=_in_order)

    verdict: str | None = field(default=None, metadata=means("Verdict of the last window: Pass, Fail or Inconclusive."))
    reason: str | None = field(default=None, metadata=means("Reason of the verdict, in one word."))
    message: str | None = field(default=None, metadata=means("Reason of the verdict, with numbers."))
    held: bool = field(default=False, metadata=means("Whether annotation specdec.io/hold keeps the guard from acting."))
    next_retry: Time | None = field(
        default=None, metadata=means("Time at which the operator retries the requested speculation.")
    )
    thresholds: ThresholdsStatus | None = field(
        default=None, metadata=means("The thresholds that windows are compared with.")
    )
    fewer_tokens: tuple[Fewer, ...] = field(
        default=(), metadata=means("Estimate for each smaller K in the last measured window.", empty=False)
    )
    recommendation: Advice | None = field(
        default=None, metadata=means("The recommended change of K, whether the guard acts on it or not.")
    )
    findings: tuple[MeasureFinding, ...] = field(
        default=(), metadata=means("Results of the comparison with baseline pods so far.", empty=False)
    )
