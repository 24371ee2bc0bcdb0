"""Whether target and draft speak the same tokens."""

from collections.abc import Iterator
from typing import Final

from specdec_operator.engine.facts import Facts
from specdec_operator.engine.rule import Finding
from specdec_operator.engine.rules.making import RECORDED, SPECULATIVE, refused, stricter, warned
from specdec_operator.engine.settled import Settled
from specdec_operator.engine.version import Flavor

EQUAL: Final = refused(
    "VOCAB-EQUAL",
    "A draft model has the target's vocabulary size, padding included.",
    f"{SPECULATIVE} verify_equal_vocab_size_if_draft_model",
    since="0.15",
)
HETERO_METHOD: Final = refused(
    "HETERO-METHOD", "`use_heterogeneous_vocab` works with draft_model only.", SPECULATIVE, since="0.25"
)
HETERO_GREEDY: Final = refused(
    "HETERO-GREEDY", "With different vocabularies the draft samples greedily.", SPECULATIVE, since="0.25"
)
HETERO_ASCEND: Final = stricter(
    "ASC-HETERO",
    "vllm-ascend has no drafts with another vocabulary.",
    "vllm-ascend PR 7664",
    on=(Flavor.VLLM_ASCEND,),
    since="0.25",
)
TOKENIZER: Final = warned(
    "TOKENIZER-DIFFERS",
    "The engine compares vocabulary sizes only; other token ids mean that nothing is accepted.",
    RECORDED,
)
MEDUSA_TARGET: Final = refused(
    "MEDUSA-TARGET",
    "Since 0.25 medusa reads the vocabulary size at the top of the target's config.",
    SPECULATIVE,
    since="0.25",
    until="0.32",
)
HEAD: Final = warned(
    "HEAD-VOCAB",
    "A head with another vocabulary size than the target is accepted, and fails or drafts nonsense.",
    RECORDED,
)

RULES: Final = (EQUAL, HETERO_METHOD, HETERO_GREEDY, HETERO_ASCEND, TOKENIZER, MEDUSA_TARGET, HEAD)

_SIZE: Final = "draft.vocab_size"
_NESTING: Final = frozenset(("qwen2_vl", "qwen2_5_vl"))
"""Model types whose config class moves a flat config.json into a text part."""


def check(settled: Settled) -> Iterator[Finding]:
    """Sizes first, then the tokens themselves."""
    if not settled.speculates or settled.method is None:
        return
    if settled.value("use_heterogeneous_vocab", False):
        yield from _different(settled)
    elif settled.method == "draft_model":
        yield from _same(settled)
    target = settled.target
    if settled.word == "medusa" and target is not None and settled.opens is not None and _hides_size(target):
        message = f"{target.model_type} keeps its vocabulary size in its text part; use another method"
        yield MEDUSA_TARGET.broken("target.vocab_size", None, message)
    if (
        settled.method in ("eagle", "eagle3", "medusa", "dflash")
        and (sizes := _sizes(settled))
        and sizes[0] != sizes[1]
    ):
        yield HEAD.broken(_SIZE, sizes[1], f"the head was trained for {sizes[1]} tokens, the target has {sizes[0]}")


def _hides_size(target: Facts) -> bool:
    nested = target.text is not target.config and "vocab_size" not in target.config
    return nested or target.model_type in _NESTING


def _sizes(settled: Settled) -> tuple[int, int] | None:
    """The target's and the draft's vocabulary sizes."""
    of_target = settled.target.vocab_size if settled.target is not None else None
    of_draft = settled.draft.vocab_size if settled.draft is not None else None
    return (of_target, of_draft) if of_target is not None and of_draft is not None else None


def _same(settled: Settled) -> Iterator[Finding]:
    if (sizes := _sizes(settled)) and sizes[0] != sizes[1]:
        message = f"the draft has {sizes[1]} tokens, the target {sizes[0]}; use a draft of the same family"
        yield EQUAL.broken(_SIZE, sizes[1], message)
        return
    ours = settled.case.target.tokenizer if settled.case.target is not None else ""
    theirs = settled.opens.tokenizer if settled.opens is not None else ""
    if ours and theirs and ours != theirs:
        yield TOKENIZER.broken("draft.tokenizer", theirs, "the draft's token ids differ from the target's")


def _different(settled: Settled) -> Iterator[Finding]:
    field = "speculative_config.use_heterogeneous_vocab"
    if settled.method != "draft_model":
        yield HETERO_METHOD.broken(field, True, f"remove it with {settled.method or 'this draft'}")
    elif settled.value("draft_sample_method", "greedy") != "greedy":
        yield HETERO_GREEDY.broken(field, True, "set draft_sample_method to greedy")
    yield HETERO_ASCEND.broken(field, True, "use a draft of the target's family")
