"""Recording rules: the fleet from the operator's metrics, and each model from vLLM's own counters."""

from dataclasses import dataclass
from typing import Final

from hack.monitoring.expressions import (
    BY_MODEL,
    engine_acceptance,
    engine_length,
    engine_positions,
    engine_seconds,
    engine_share,
    one,
    rate,
)

_WINDOW: Final = "5m"


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """A rule that keeps a result under a name: level:meaning:operations."""

    record: str
    expr: str


FLEET: Final = (
    Recording(record="specdec:services:count", expr=f"count({one('specdec_service_info')})"),
    Recording(record="specdec:services_speculating:count", expr=f"sum({one('specdec_speculating')})"),
    Recording(
        record="phase:specdec_services:count",
        expr=f"sum by (phase) ({one('specdec_phase', by='namespace, name, phase')})",
    ),
    Recording(record="specdec:rollbacks:sum", expr=f"sum({one('specdec_rollbacks')})"),
)
_OF_MODELS: Final = {
    "spec_decode_acceptance_rate": engine_acceptance("", _WINDOW),
    "spec_decode_acceptance_length": engine_length("", _WINDOW),
    "spec_decode_drafted_share": engine_share("", _WINDOW),
    "time_per_output_token_seconds": engine_seconds("", _WINDOW),
    "generation_tokens": rate("generation_tokens_total", "", _WINDOW, by=BY_MODEL),
}
_OF_POSITIONS: Final = Recording(
    record="namespace_model_name_position:vllm_spec_decode_acceptance_rate:rate5m",
    expr=engine_positions("", _WINDOW),
)
ENGINES: Final = (
    *(Recording(record=f"namespace_model_name:vllm_{name}:rate5m", expr=expr) for name, expr in _OF_MODELS.items()),
    _OF_POSITIONS,
)
