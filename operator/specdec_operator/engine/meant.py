"""What a speculative configuration means to its engine, however it is spelt: two cases that mean the same are equal."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from specdec_operator.engine.case import Case
from specdec_operator.engine.reading import takes
from specdec_operator.engine.settled import WITHOUT_DRAFT, settle

_NEUTRAL: Final = MappingProxyType({"draft_sample_method": "greedy", "rejection_sample_method": "standard"})
"""What the engine does by itself."""
_SUFFIX: Final = MappingProxyType(
    {
        "suffix_decoding_max_tree_depth": 24,
        "suffix_decoding_max_cached_requests": 10_000,
        "suffix_decoding_max_spec_factor": 1.0,
        "suffix_decoding_min_token_prob": 0.1,
    }
)
"""What the engine fills in for suffix, vllm/config/speculative.py."""


def meant(case: Case) -> dict[str, Any] | None:
    """The configuration with the method and K that the engine settles on, its own defaults, and nothing without effect.

    None where the case serves plainly. Without `method` where that depends on what is not known of the draft.
    """
    if case.speculation is None:
        return None
    settled = settle(case)
    method = settled.method or ""
    values = {
        key: value
        for key, value in settled.reading.values.items()
        if value is not False and value != _NEUTRAL.get(key) and takes(key, method)
    }
    values["method"] = method
    if settled.k is not None:
        values["num_speculative_tokens"] = settled.k
    if method in WITHOUT_DRAFT and method != "custom_class":
        values.pop("model", None)
    return _shaped(values, method)


def _shaped(values: dict[str, Any], method: str) -> dict[str, Any]:
    if method in ("ngram", "ngram_gpu"):
        _windows(values)
    if method == "suffix":
        values = {**_SUFFIX, **values}
        values.setdefault("num_speculative_tokens", values["suffix_decoding_max_tree_depth"])
    if schedule := _schedule(values):
        values["num_speculative_tokens_per_batch_size"] = schedule
    return values


def _windows(values: dict[str, Any]) -> None:
    """Of the two ends of the window the engine copies the one that is given."""
    low, high = values.get("prompt_lookup_min"), values.get("prompt_lookup_max")
    if low is not None or high is not None:
        values["prompt_lookup_min"] = high if low is None else low
        values["prompt_lookup_max"] = low if high is None else high


def _schedule(values: Mapping[str, Any]) -> list[list[int]]:
    """In order of load, with no more than K tokens."""
    rows = values.get("num_speculative_tokens_per_batch_size") or []
    most = values.get("num_speculative_tokens", 0)
    return sorted([first, last, min(tokens, most) if most else tokens] for first, last, tokens in rows)
