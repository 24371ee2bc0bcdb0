"""The alerts about services: when, how bad, and what is said. Each has a page in docs/runbooks/ of its name."""

from dataclasses import dataclass
from typing import Final, Literal

from hack.monitoring.expressions import BY_SERVICE, FIELD_ACCEPTANCE, STEADY, one

NAME: Final = "{{ $labels.namespace }}/{{ $labels.name }}"
_IDLE: Final = "NoTraffic|FewTokens"
_STEADY: Final = one("specdec_service_info", f'method=~"{STEADY}"')
_ROLLED_BACK: Final = one("specdec_rolled_back", 'reason!="Requested"', by=f"{BY_SERVICE}, reason, to")
_NOT_DRAFTING: Final = one("specdec_verdict", 'outcome="Fail",reason="NotDrafting"')
_UNPROVED: Final = one("specdec_verdict", f'outcome="Inconclusive",reason!~"{_IDLE}"')
_WITHOUT_TRAFFIC: Final = one("specdec_verdict", f'outcome="Inconclusive",reason=~"{_IDLE}"')
_REASON: Final = (
    "{{ with query (printf `specdec_verdict{namespace=%q,name=%q}` $labels.namespace $labels.name) }}"
    "{{ . | first | label `reason` }}{{ end }}"
)
"""The reason of the newest verdict; as a label it would begin the waiting anew whenever it changes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """One alert. lasts: how long the expression has to hold, as Prometheus writes it; empty: not at all."""

    name: str
    expr: str
    lasts: str
    severity: Literal["critical", "warning", "info"]
    summary: str
    description: str


SERVICES: Final = (
    Alert(
        name="SpecdecAcceptanceLow",
        expr=(
            f"(\n  {one('specdec_acceptance_rate')} < {FIELD_ACCEPTANCE}\n"
            f"  and on ({BY_SERVICE}) {_STEADY}\n)\n"
            f"or {one('specdec_acceptance_rate')} < {one('specdec_acceptance_rate_threshold')}"
        ),
        lasts="30m",
        severity="warning",
        summary=f"{NAME}: the draft is hardly accepted",
        description=(
            f"{NAME} accepts {{{{ $value | humanizePercentage }}}} of its drafted tokens: "
            "less than one expects of its method, for half an hour."
        ),
    ),
    Alert(
        name="SpecdecAcceptanceTooHigh",
        expr=f"{one('specdec_acceptance_rate')} >= 0.999",
        lasts="1h",
        severity="warning",
        summary=f"{NAME}: the draft is always right",
        description=(
            f"{NAME} accepts {{{{ $value | humanizePercentage }}}} of its drafted tokens, for an hour: "
            "the draft may be the target itself, or acceptance is pretended."
        ),
    ),
    Alert(
        name="SpecdecRolledBack",
        expr=f"{_ROLLED_BACK} == 1",
        lasts="",
        severity="warning",
        summary=f"{NAME}: speculation was rolled back",
        description=f"{NAME} was rolled back to {{{{ $labels.to }}}} for {{{{ $labels.reason }}}}; it serves on.",
    ),
    Alert(
        name="SpecdecStalled",
        expr=f"{one('specdec_stalled')} == 1",
        lasts="10m",
        severity="critical",
        summary=f"{NAME}: somebody has to act",
        description=f"{NAME} has been Stalled for ten minutes: its spec is refused, or not even plain pods come up.",
    ),
    Alert(
        name="SpecdecNotDrafting",
        expr=f"{_NOT_DRAFTING} == 1",
        lasts="5m",
        severity="warning",
        summary=f"{NAME}: nothing is drafted",
        description=f"{NAME} generates tokens and has drafted none for five minutes.",
    ),
    Alert(
        name="SpecdecInconclusive",
        expr=f"{_UNPROVED} == 1",
        lasts="2h",
        severity="warning",
        summary=f"{NAME}: two hours of traffic have proved nothing",
        description=f"The windows of {NAME} have been inconclusive for two hours, now for {_REASON}: nobody guards it.",
    ),
    Alert(
        name="SpecdecWithoutTraffic",
        expr=f"{_WITHOUT_TRAFFIC} == 1",
        lasts="24h",
        severity="info",
        summary=f"{NAME}: too little traffic to judge by",
        description=f"A day of windows of {NAME} had too little traffic to judge the draft by, now for {_REASON}.",
    ),
    Alert(
        name="SpecdecPodsWithoutMetrics",
        expr=f"{one('specdec_pods_without_metrics')} > 0",
        lasts="15m",
        severity="warning",
        summary=f"{NAME}: pods do not tell their metrics",
        description=f"{{{{ $value }}}} pods of {NAME} have not answered with metrics for a quarter of an hour.",
    ),
    Alert(
        name="SpecdecSlowerThanPlain",
        expr=f"{one('specdec_speedup_high')} < 1\nand on ({BY_SERVICE}) {one('specdec_speculating')} == 1",
        lasts="15m",
        severity="warning",
        summary=f"{NAME}: speculation slows it down",
        description=f"{NAME} is at most {{{{ $value | printf `%.2f` }}}} times as fast as without speculation (95 %).",
    ),
    Alert(
        name="SpecdecWouldAct",
        expr=f"{one('specdec_would_act')} == 1",
        lasts="15m",
        severity="info",
        summary=f"{NAME}: the guard would act and may not",
        description=f"The guard of {NAME} only observes, or is held, and has wanted to act for a quarter of an hour.",
    ),
)
