"""vLLM's counters and those of the step clock by their names in /metrics, and how to find one in its text."""

from __future__ import annotations

from typing import Final

DRAFTS: Final = "vllm:spec_decode_num_drafts_total"
DRAFT_TOKENS: Final = "vllm:spec_decode_num_draft_tokens_total"
ACCEPTED: Final = "vllm:spec_decode_num_accepted_tokens_total"
ACCEPTED_PER_POSITION: Final = "vllm:spec_decode_num_accepted_tokens_per_pos_total"
GENERATED: Final = "vllm:generation_tokens_total"
TIMES: Final = "vllm:request_time_per_output_token_seconds_sum"
REQUESTS: Final = "vllm:request_time_per_output_token_seconds_count"
DECODE_SECONDS: Final = "vllm:request_decode_time_seconds_sum"
ANSWERS: Final = "vllm:request_generation_tokens_count"
ANSWER_TOKENS: Final = "vllm:request_generation_tokens_sum"
FIRST_TOKENS: Final = "vllm:time_to_first_token_seconds_count"
FIRST_TOKEN_SECONDS: Final = "vllm:time_to_first_token_seconds_sum"  # noqa: S105 - a counter, no password
QUEUE_SECONDS: Final = "vllm:request_queue_time_seconds_sum"
PREFILL_SECONDS: Final = "vllm:request_prefill_time_seconds_sum"
PREFILLED: Final = "vllm:request_prompt_tokens_sum"
PREEMPTIONS: Final = "vllm:num_preemptions_total"
PROMPT_TOKENS: Final = "vllm:prompt_tokens_total"
CACHE_QUERIES: Final = "vllm:prefix_cache_queries_total"
CACHE_HITS: Final = "vllm:prefix_cache_hits_total"
RUNNING: Final = "vllm:num_requests_running"
WAITING: Final = "vllm:num_requests_waiting"
CACHE_IN_USE: Final = "vllm:kv_cache_usage_perc"
CACHE_IN_USE_BEFORE: Final = "vllm:gpu_cache_usage_perc"
"""Its name up to vLLM 0.11, which has both."""
CLOCK: Final = "specdec_engine_"
"""How the names of the step clock's counters begin (specdec_runtime/clock)."""
STEPS: Final = f"{CLOCK}steps_total"
STEP_SECONDS: Final = f"{CLOCK}step_seconds_total"
STEP_REQUESTS: Final = f"{CLOCK}step_requests_total"
STEP_TOKENS: Final = f"{CLOCK}tokens_total"
STEP_DRAFT_TOKENS: Final = f"{CLOCK}draft_tokens_total"
STEP_ACCEPTED: Final = f"{CLOCK}accepted_tokens_total"
DIPS: Final = f"{CLOCK}dips_total"
DIP_RATIOS: Final = f"{CLOCK}dip_ratios_total"
DIP_SQUARES: Final = f"{CLOCK}dip_squared_ratios_total"


def total(text: str, family: str) -> float | None:
    """Return the sum of all series of a family, or None where the family is absent."""
    values = [
        float(line.rsplit(" ", 1)[1])
        for line in text.splitlines()
        if line.startswith(family) and line[len(family) : len(family) + 1] in {"{", " "}
    ]
    return sum(values) if values else None
