"""The dashboard of one service: what the guard sees, and below it what the engines count."""

from typing import Any, Final

from hack.monitoring.expressions import (
    FIELD_ACCEPTANCE,
    engine_acceptance,
    engine_length,
    engine_positions,
    engine_seconds,
    engine_share,
    one,
    rate,
)
from hack.monitoring.grafana import Dashboard, Panel, Query, Row, Variable
from hack.monitoring.looks import BLUE, GOOD, PHASES, dashed, lines, number, of, phase_number, stripes

_MINE: Final = 'namespace="$namespace",name="$name"'
_ENGINE: Final = 'namespace="$namespace",model_name="$model"'
_RANGE: Final = "$__rate_interval"


def _positions() -> Panel:
    bars = {
        "displayMode": "basic",
        "orientation": "horizontal",
        "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
        "showUnfilled": True,
    }
    query = Query(
        expr=one("specdec_position_acceptance_rate", _MINE, by="namespace, name, position"),
        legend="position {{position}}",
    )
    return Panel(
        title="Acceptance by position, last measured",
        kind="bargauge",
        queries=(query,),
        about="Share of the drafts whose token at this position was accepted; 0 is the first.",
        unit="percentunit",
        steps=((None, BLUE),),
        options=bars,
        width=6,
    )


def _stat(title: str, metric: str, about: str, **more: Any) -> Panel:
    return number(title, one(metric, _MINE), about, **more)


_NOW: Final = Row(
    title="Now",
    panels=(
        number("State", phase_number(_MINE), "What the guard is doing.", words=PHASES),
        _stat("Acceptance", "specdec_acceptance_rate", "Accepted / drafted tokens.", unit="percentunit"),
        _stat("Speedup", "specdec_speedup", "Plain time per output token / this one, at the same load."),
        _stat("K", "specdec_tokens_served", "Tokens drafted per step that are served; 0: none."),
        _stat("Rollbacks", "specdec_rollbacks", "So far, as kept in the status."),
        number(
            "Age of the evidence",
            f"time() - {one('specdec_evidence_timestamp_seconds', _MINE)}",
            "Since a window closed that proved something.",
            unit="s",
        ),
    ),
)
_GUARD: Final = Row(
    title="What the guard sees",
    panels=(
        stripes(
            "State",
            Query(expr=phase_number(_MINE), legend="{{name}}"),
            about="What the guard is doing (docs/guard.md, States).",
            words=PHASES,
            height=5,
        ),
        stripes(
            "Verdict",
            Query(
                expr=one("specdec_verdict", _MINE, by="namespace, name, outcome, reason"),
                legend="{{outcome}} {{reason}}",
            ),
            about="The verdict on the last window (docs/guard.md, How a window is judged).",
            words={1: ("yes", GOOD)},
            height=5,
        ),
        lines(
            "Acceptance against its threshold",
            of("specdec_acceptance_rate", _MINE, "acceptance"),
            of("specdec_acceptance_rate_threshold", _MINE, "threshold"),
            Query(expr=f"vector({FIELD_ACCEPTANCE})", legend="usual alert"),
            about="Accepted / drafted tokens of each window.",
            unit="percentunit",
            overrides=dashed("threshold", "usual alert"),
            width=10,
        ),
        _positions(),
        lines(
            "Acceptance length",
            of("specdec_acceptance_length", _MINE, "tokens a step"),
            about="1 + accepted / drafts.",
            width=8,
        ),
        lines(
            "Speedup with its 95 % interval",
            of("specdec_speedup", _MINE, "speedup"),
            of("specdec_speedup_low", _MINE, "lower end"),
            of("specdec_speedup_high", _MINE, "upper end"),
            of("specdec_speedup_threshold", _MINE, "threshold"),
            about="Plain time per output token / this one, at the same loads.",
            overrides=dashed("lower end", "upper end", "threshold"),
        ),
        lines(
            "Time per output token",
            of("specdec_time_per_output_token_seconds", _MINE, "served"),
            of("specdec_plain_time_per_output_token_seconds", _MINE, "plain, at the same load"),
            about="Mean over the requests that ended in a window.",
            unit="s",
        ),
        lines("Tokens a second", of("specdec_tokens_per_second", _MINE, "all pods"), about="Generated.", width=8),
        lines(
            "K",
            of("specdec_tokens_asked", _MINE, "asked for"),
            of("specdec_tokens_served", _MINE, "served"),
            about="Tokens drafted per step.",
            width=8,
        ),
        lines(
            "Failing windows, rollbacks, silent pods",
            of("specdec_failing_windows", _MINE, "failing windows in a row"),
            of("specdec_rollbacks", _MINE, "rollbacks"),
            of("specdec_pods_without_metrics", _MINE, "pods without metrics"),
            about="What leads to a rollback, and what keeps one from being decided.",
            width=8,
        ),
    ),
)


def _by_pod(title: str, expr: str, about: str, unit: str = "short") -> Panel:
    return lines(title, Query(expr=expr, legend="{{pod}}"), about=about, unit=unit, width=8)


_ENGINES: Final = Row(
    title="What the engines count (where Prometheus scrapes the pods)",
    panels=(
        _by_pod(
            "Acceptance by pod", engine_acceptance(_ENGINE, _RANGE, by="pod"), "Accepted / drafted.", "percentunit"
        ),
        _by_pod("Tokens a step by pod", engine_length(_ENGINE, _RANGE, by="pod"), "1 + accepted / drafts."),
        lines(
            "Acceptance by position",
            Query(expr=engine_positions(_ENGINE, _RANGE, by="model_name"), legend="position {{position}}"),
            about="Accepted share of each position, over all pods.",
            unit="percentunit",
            width=8,
        ),
        lines(
            "Tokens a second",
            Query(expr=rate("generation_tokens_total", _ENGINE, _RANGE, by="model_name"), legend="generated"),
            Query(expr=rate("spec_decode_num_draft_tokens_total", _ENGINE, _RANGE, by="model_name"), legend="drafted"),
            Query(
                expr=rate("spec_decode_num_accepted_tokens_total", _ENGINE, _RANGE, by="model_name"), legend="accepted"
            ),
            about="What is drafted and not accepted is work in vain.",
            width=8,
        ),
        _by_pod("Drafted share by pod", engine_share(_ENGINE, _RANGE, by="pod"), "Steps with a draft.", "percentunit"),
        _by_pod("Time per output token by pod", engine_seconds(_ENGINE, _RANGE, by="pod"), "Mean of requests.", "s"),
        _by_pod("Running requests by pod", f"sum by (pod) (vllm:num_requests_running{{{_ENGINE}}})", "The load."),
    ),
)
SERVICE: Final = Dashboard(
    uid="specdec-service",
    title="Speculative decoding: one service",
    about="One SpeculativeInferenceService. Generated by hack/monitoring.",
    variables=(
        Variable(name="namespace", label="Namespace", query="label_values(specdec_stalled, namespace)"),
        Variable(name="name", label="Service", query='label_values(specdec_stalled{namespace="$namespace"}, name)'),
        Variable(
            name="model",
            label="Served model",
            query='label_values(vllm:generation_tokens_total{namespace="$namespace"}, model_name)',
        ),
    ),
    rows=(_NOW, _GUARD, _ENGINES),
    rollbacks=(
        f"({one('specdec_rollbacks', _MINE)}\n- {one('specdec_rollbacks', _MINE)[:-1]} offset $__interval)) > 0"
    ),
    link=("specdec-fleet", "All services"),
)
