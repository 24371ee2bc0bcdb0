"""What starts, and then disappoints: gates of versions, and habits of drafts that no check of the engine speaks of."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from specdec_engine.model_config import ModelConfig
from specdec_engine.resolve import Resolved
from specdec_engine.rule import Finding, at_flag, at_key, broken

_ONE_BY_ONE: Final = frozenset(("eagle", "eagle3", "mtp", "draft_model"))
_USUAL: Final = 8
_NON_CAUSAL: Final = frozenset(("FLASH_ATTN", "FLEX_ATTENTION"))
_FOUR_BITS: Final = frozenset(("awq", "awq_marlin", "gptq", "gptq_marlin"))


def check(resolved: Resolved) -> Iterator[Finding]:
    """By version first, then by model."""
    if not resolved.speculates or not resolved.method:
        return
    yield from _gates(resolved)
    yield from _chain(resolved)
    if resolved.method == "dflash":
        yield from _backend(resolved)
    if resolved.target is not None and resolved.draft is not None and not resolved.own:
        yield from _precision(resolved.target, resolved.draft)
    else:
        yield from _asked_precision(resolved)


def _gates(resolved: Resolved) -> Iterator[Finding]:
    args = resolved.case.args
    if resolved.method == "eagle3":
        yield at_key(
            "EAGLE3-EARLY",
            "method",
            "eagle3",
            "use 0.11.1 or later: the gain of heads is about 5 % in this version, and 32 % in 0.11.1",
        )
    yield broken("STRUCTURED-EARLY", "requests", None, "use 0.16 or later if clients request JSON, a grammar or tools")
    connector = resolved.case.part("kv_transfer_config", "kv_connector")
    if isinstance(connector, str) and resolved.method != "extract_hidden_states":
        message = "use 0.17 or later, or run prefill and decoding in the same pod"
        yield at_flag("TRANSFER-EARLY", "kv_transfer_config", connector, message)
    named = next((each for each in ("max_logprobs", "logprobs_mode") if args.get(each) is not None), None)
    if named is not None:
        message = (
            "log probabilities differ slightly with the batch; do not compare them exactly with those of the baseline"
        )
        yield at_flag("LOGPROBS-MOVE", named, args[named], message)


def _chain(resolved: Resolved) -> Iterator[Finding]:
    """Many tokens, drafted one after the other."""
    at_once = resolved.value("parallel_drafting", False)
    if resolved.k is not None and resolved.k > _USUAL and resolved.method in _ONE_BY_ONE and not at_once:
        message = (
            f"{resolved.k} tokens need {resolved.k} passes of the draft per step, and late ones are rarely accepted"
        )
        yield at_key("K-MANY", "num_speculative_tokens", resolved.k, f"{message}; start with 3 to 5")
    if resolved.method == "medusa" and (ranks := resolved.case.size("tensor_parallel_size")) > 1:
        message = f"the layers of the heads are not split, so each of the {ranks} devices holds all of them"
        yield at_flag("MEDUSA-WHOLE", "tensor_parallel_size", ranks, message)


def _backend(resolved: Resolved) -> Iterator[Finding]:
    """A block draft looks ahead, which few backends could do at first."""
    key = resolved.value("attention_backend")
    flag = resolved.case.args.get("attention_backend")
    named = key or (flag.upper() if isinstance(flag, str) else None)
    if named is None or named == "AUTO" or named in _NON_CAUSAL:
        return
    message = f"{named} has only causal attention; use {' or '.join(sorted(_NON_CAUSAL))}, or 0.24 and later"
    place = at_key if key else at_flag
    yield place("DFLASH-BACKEND", "attention_backend", named, message)


def _precision(target: ModelConfig, draft: ModelConfig) -> Iterator[Finding]:
    """A draft that is rounded more than its target guesses worse than its size suggests."""
    if "fp8" in _scheme(target) and _bits(draft) == 4:
        message = f"the draft has 4 bits per weight ({draft.quantization}), and the target is {_scheme(target)}"
        yield broken("DRAFT-PRECISION", "draft.quantization_config", draft.quantization, f"{message}; use FP8 or BF16")


def _asked_precision(resolved: Resolved) -> Iterator[Finding]:
    """The same by flag and key, where the configs are not known."""
    flag, key = resolved.case.args.get("quantization"), resolved.value("quantization")
    if isinstance(flag, str) and "fp8" in flag.lower() and isinstance(key, str) and key.lower() in _FOUR_BITS:
        message = f"the draft has 4 bits per weight ({key}), and the target is {flag}; use FP8 or BF16"
        yield at_key("DRAFT-PRECISION", "quantization", key, message)


def _section(model: ModelConfig) -> Mapping[str, Any]:
    found = model.config.get("quantization_config")
    return found if isinstance(found, Mapping) else {}


def _scheme(model: ModelConfig) -> str:
    """How a model is quantised: its method, and what compressed tensors hold."""
    inner = (
        "fp8" if "float" in str(_section(model).get("format", "")) or "'type': 'float'" in str(_section(model)) else ""
    )
    return f"{model.quantization} {inner}".strip()


def _bits(model: ModelConfig) -> int | None:
    """Bits of a weight, if the config shows them."""
    section = _section(model)
    bits = section.get("bits") or section.get("w_bit")
    if isinstance(bits, int):
        return bits
    if model.quantization in _FOUR_BITS or "'num_bits': 4" in str(section):
        return 4
    return None
