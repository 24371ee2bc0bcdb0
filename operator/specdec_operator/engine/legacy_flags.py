"""Flags of speculation of engines before 0.11, in the words of today's configuration."""

from types import MappingProxyType
from typing import Any, Final

from specdec_engine.case import Json

_NGRAM: Final = "[ngram]"
KEYS: Final = MappingProxyType(
    {
        "speculative_model": "model",
        "num_speculative_tokens": "num_speculative_tokens",
        "speculative_draft_tensor_parallel_size": "draft_tensor_parallel_size",
        "speculative_model_quantization": "quantization",
        "speculative_max_model_len": "max_model_len",
        "ngram_prompt_lookup_max": "prompt_lookup_max",
        "ngram_prompt_lookup_min": "prompt_lookup_min",
    }
)
"""vLLM 0.8 and older, vllm/engine/arg_utils.py: flag -> key of --speculative-config."""
ENDED: Final = MappingProxyType(
    {
        "speculative_disable_by_batch_size": "add rows with tokens 0 to spec.speculation.tokensByBatchSize",
        "speculative_disable_mqa_scorer": "remove it: engines since 0.11 have no such scorer",
        "spec_decoding_acceptance_method": "see spec.speculation.rejection",
        "typical_acceptance_sampler_posterior_threshold": "see spec.speculation.rejection",
        "typical_acceptance_sampler_posterior_alpha": "see spec.speculation.rejection",
        "disable_logprobs_during_spec_decoding": "remove it: engines since 0.11 return them",
    }
)
"""Flags without an equivalent, each with the way out."""
_HEADS: Final = (("eagle3", "eagle3"), ("eagle", "eagle"), ("medusa", "medusa"))


def todays(speculation: Json | None, args: dict[str, Any]) -> Json | None:
    """The configuration with the values of old flags, which are taken out of `args`."""
    given = {key: args.pop(flag) for flag, key in KEYS.items() if flag in args}
    named = (speculation or {}).get("model") == _NGRAM
    if not given and not named:
        return speculation
    merged = {key: number(value) for key, value in given.items()} | dict(speculation or {})
    if merged.get("model") == _NGRAM:
        merged |= {"method": "ngram"}
        del merged["model"]
    elif "model" in merged and "method" not in merged:
        merged["method"] = _method(str(merged["model"]))
    return merged


def number(value: Any) -> Any:
    """A whole number, if a text is one."""
    return int(value) if isinstance(value, str) and value.isdecimal() else value


def _method(draft: str) -> str:
    """By the draft's name, as vllm/config/speculative.py does; other names are of whole models."""
    return next((method for sign, method in _HEADS if sign in draft.lower()), "draft_model")
