"""PromQL that rules and dashboards share.

The operator's own pod may change: what is told of a service is taken without the labels of the pod that told it, so
that an alert that waits goes on waiting.
"""

from typing import Final

BY_SERVICE: Final = "namespace, name"
BY_MODEL: Final = "namespace, model_name"
FIELD_ACCEPTANCE: Final = 0.5
"""Acceptance below which operators of such services are alarmed, whatever the guard's own threshold is."""
STEADY: Final = "draft_model|eagle|eagle3|mtp|medusa"
"""Methods that live above it. A look-up and whole blocks of tokens pay at less."""


def one(metric: str, labels: str = "", *, by: str = BY_SERVICE) -> str:
    """One value a service, whichever operator pod told it. labels: matchers; by: labels that are kept."""
    return f"max by ({by}) ({metric}{{{labels}}})" if labels else f"max by ({by}) ({metric})"


def rate(counter: str, labels: str, window: str, *, by: str) -> str:
    """Growth of one of vLLM's counters a second, summed up."""
    return f"sum by ({by}) (rate(vllm:{counter}{{{labels}}}[{window}]))"


def engine_acceptance(labels: str, window: str, *, by: str = BY_MODEL) -> str:
    """Accepted / drafted tokens."""
    accepted = rate("spec_decode_num_accepted_tokens_total", labels, window, by=by)
    return f"{accepted} / {rate('spec_decode_num_draft_tokens_total', labels, window, by=by)}"


def engine_length(labels: str, window: str, *, by: str = BY_MODEL) -> str:
    """1 + accepted tokens / drafts."""
    accepted = rate("spec_decode_num_accepted_tokens_total", labels, window, by=by)
    return f"1 + {accepted} / {rate('spec_decode_num_drafts_total', labels, window, by=by)}"


def engine_positions(labels: str, window: str, *, by: str = BY_MODEL) -> str:
    """Accepted share of each position. The divisor has no positions: without group_left there would be no result."""
    accepted = rate("spec_decode_num_accepted_tokens_per_pos_total", labels, window, by=f"{by}, position")
    drafts = rate("spec_decode_num_drafts_total", labels, window, by=by)
    return f"{accepted} / ignoring (position) group_left () {drafts}"


def engine_share(labels: str, window: str, *, by: str = BY_MODEL) -> str:
    """Drafts / steps of the target: a step yields one token besides those that were accepted."""
    drafts = rate("spec_decode_num_drafts_total", labels, window, by=by)
    generated = rate("generation_tokens_total", labels, window, by=by)
    return f"{drafts} / ({generated} - {rate('spec_decode_num_accepted_tokens_total', labels, window, by=by)})"


def engine_seconds(labels: str, window: str, *, by: str = BY_MODEL) -> str:
    """Mean time per output token of the requests that ended. Never inter-token latency: it counts steps."""
    total = rate("request_time_per_output_token_seconds_sum", labels, window, by=by)
    return f"{total} / {rate('request_time_per_output_token_seconds_count', labels, window, by=by)}"
