"""Finds vLLM's counters in the text of /metrics."""

from __future__ import annotations

DRAFTS = "vllm:spec_decode_num_drafts_total"
RUNNING = "vllm:num_requests_running"
WAITING = "vllm:num_requests_waiting"


def total(text: str, family: str) -> float | None:
    """Return the sum of all series of a family, or None where the family is absent."""
    values = [
        float(line.rsplit(" ", 1)[1])
        for line in text.splitlines()
        if line.startswith(family) and line[len(family) : len(family) + 1] in {"{", " "}
    ]
    return sum(values) if values else None
