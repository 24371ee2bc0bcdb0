"""The alerts about the operator itself: while it is away the services serve on, and nobody guards them."""

from typing import Final

from hack.monitoring.alerts import SERVICES, Alert

_TURNS: Final = "specdec_turn_seconds_count"
_FAILED: Final = "sum by (reason) (rate(specdec_turn_failures_total[15m]))"

OPERATOR: Final = (
    Alert(
        name="SpecdecOperatorDown",
        expr="absent(specdec_build_info)",
        lasts="5m",
        severity="critical",
        summary="specdec-operator: nobody tells its metrics",
        description="No metrics of specdec-operator for five minutes: it is down, or Prometheus does not reach it.",
    ),
    Alert(
        name="SpecdecOperatorNotReconciling",
        expr=f"sum(specdec_loops) > 0\nand sum(increase({_TURNS}[15m])) == 0",
        lasts="5m",
        severity="critical",
        summary="specdec-operator: its loops stand still",
        description="None of the {{ $value }} loops of specdec-operator has made a turn for a quarter of an hour.",
    ),
    Alert(
        name="SpecdecOperatorTurnsFail",
        expr=f"{_FAILED} / on () group_left () sum(rate({_TURNS}[15m])) > 0.2",
        lasts="15m",
        severity="warning",
        summary="specdec-operator: turns fail for {{ $labels.reason }}",
        description="{{ $value | humanizePercentage }} of the turns of specdec-operator fail for {{ $labels.reason }}.",
    ),
    Alert(
        name="SpecdecOperatorNoLeader",
        expr="sum(specdec_leader) == 0",
        lasts="5m",
        severity="critical",
        summary="specdec-operator: no replica leads",
        description="Replicas of specdec-operator run, and none of them has held the lease for five minutes.",
    ),
)
ALERTS: Final = (*SERVICES, *OPERATOR)
