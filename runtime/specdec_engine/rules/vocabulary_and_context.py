"""What target and draft must have in common: their tokens, and how long a sequence may be."""

from collections.abc import Iterator
from typing import Final

from specdec_engine.case import Case
from specdec_engine.model_config import ModelConfig
from specdec_engine.resolve import Resolved
from specdec_engine.rule import Finding, at_flag, broken

_FIELD: Final = "speculative_config.max_model_len"


def context_length(resolved: Resolved) -> Iterator[Finding]:
    """The target's length, then the draft's."""
    case, target = resolved.case, resolved.target
    length = case.size("max_model_len", 0)
    allowed = target.context if target is not None else None
    above = allowed is not None and length > allowed
    if target is not None and above and not _believes_flags(case):
        own = target.text.get("model_max_length")
        if not isinstance(own, int) or length > own:
            message = f"{length} is above the config's {allowed} tokens"
            yield at_flag("CONTEXT-TARGET", "max_model_len", length, message)
    if resolved.opens is not None and resolved.speculates and resolved.method is not None:
        yield from _draft(resolved)


def _draft(resolved: Resolved) -> Iterator[Finding]:
    length, longest = resolved.value("max_model_len"), resolved.context
    allowed = resolved.draft.context if resolved.draft is not None else None
    if length is not None and allowed is not None and length > allowed and not _trusted(resolved):
        yield broken("CONTEXT-DRAFT", _FIELD, length, f"{length} is above the draft's {allowed} tokens")
    elif length is not None and longest is not None and length > longest:
        yield broken("CONTEXT-DRAFT", _FIELD, length, f"{length} is above the target's {longest} tokens")
    if allowed is not None and longest is not None and allowed < longest:
        yield from _short(allowed, longest, resolved)


def _short(allowed: int, longest: int, resolved: Resolved) -> Iterator[Finding]:
    """A draft whose positions end before the target's."""
    field = "draft.max_position_embeddings"
    if resolved.method in ("eagle", "eagle3"):
        message = f"the head has {allowed} positions, and the target has {longest}; set max_model_len to {allowed}"
        yield broken("CONTEXT-HEAD", field, allowed, message)
    if resolved.method == "draft_model":
        message = (
            f"the draft has {allowed} positions, and the target has {longest}, so no token after {allowed} is "
            f"accepted; set max_model_len to {allowed}, or use a draft with a longer context"
        )
        yield broken("CONTEXT-SHORT", field, allowed, message)


def _believes_flags(case: Case) -> bool:
    """Whether the engine is set to accept a longer context than the config's."""
    return case.env.get("VLLM_ALLOW_LONG_MAX_MODEL_LEN", "0") not in ("", "0")


def _trusted(resolved: Resolved) -> bool:
    """Whether the engine believes a longer length than the draft's config: since 0.25 it reads the same variable."""
    return resolved.at_least("0.25") and _believes_flags(resolved.case)


_SIZE: Final = "draft.vocab_size"
_NESTING: Final = frozenset(("qwen2_vl", "qwen2_5_vl"))
"""Model types whose config class moves a flat config.json into a text part."""


def vocabulary(resolved: Resolved) -> Iterator[Finding]:
    """Sizes first, then the tokens themselves."""
    if not resolved.speculates or resolved.method is None:
        return
    if resolved.value("use_heterogeneous_vocab", False):
        yield from _different(resolved)
    elif resolved.method == "draft_model":
        yield from _same(resolved)
    target = resolved.target
    if resolved.word == "medusa" and target is not None and resolved.opens is not None and _hides_size(target):
        message = (
            f"{target.model_type} has its vocabulary size in its text part, where medusa does not read it; use "
            "another method"
        )
        yield broken("MEDUSA-TARGET", "target.vocab_size", None, message)
    if (
        resolved.method in ("eagle", "eagle3", "medusa", "dflash")
        and (sizes := _sizes(resolved))
        and sizes[0] != sizes[1]
    ):
        message = (
            f"the head was trained for a vocabulary of {sizes[1]}, but the target has {sizes[0]}; use a head of "
            "exactly this target"
        )
        yield broken("HEAD-VOCAB", _SIZE, sizes[1], message)


def _hides_size(target: ModelConfig) -> bool:
    nested = target.text is not target.config and "vocab_size" not in target.config
    return nested or target.model_type in _NESTING


def _sizes(resolved: Resolved) -> tuple[int, int] | None:
    """The target's and the draft's vocabulary sizes."""
    of_target = resolved.target.vocab_size if resolved.target is not None else None
    of_draft = resolved.draft.vocab_size if resolved.draft is not None else None
    return (of_target, of_draft) if of_target is not None and of_draft is not None else None


def _same(resolved: Resolved) -> Iterator[Finding]:
    if (sizes := _sizes(resolved)) and sizes[0] != sizes[1]:
        message = (
            f"the draft has a vocabulary of {sizes[1]}, but the target has {sizes[0]}; use a draft of the same family"
        )
        yield broken("VOCAB-EQUAL", _SIZE, sizes[1], message)
        return
    ours = resolved.case.target.tokenizer if resolved.case.target is not None else ""
    theirs = resolved.opens.tokenizer if resolved.opens is not None else ""
    if ours and theirs and ours != theirs:
        message = (
            "the draft's token ids differ from those of the target, so no draft is accepted; use a draft with the "
            "target's tokenizer"
        )
        yield broken("TOKENIZER-DIFFERS", "draft.tokenizer", theirs, message)


def _different(resolved: Resolved) -> Iterator[Finding]:
    field = "speculative_config.use_heterogeneous_vocab"
    if resolved.method != "draft_model":
        yield broken("HETERO-METHOD", field, True, f"remove it with {resolved.method or 'this draft'}")
    elif resolved.value("draft_sample_method", "greedy") != "greedy":
        yield broken("HETERO-GREEDY", field, True, "set draft_sample_method to greedy")
    if resolved.value("use_local_argmax_reduction", False):
        yield broken("HETERO-ARGMAX", field, True, "remove use_local_argmax_reduction")
    yield broken("ASC-HETERO", field, True, "use a draft of the target's family")
