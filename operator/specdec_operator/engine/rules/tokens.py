"""K, the number of draft tokens: given or found, within what the engine and the draft can do."""

from collections.abc import Iterator
from typing import Final

from specdec_operator.engine.rule import Finding
from specdec_operator.engine.rules.making import SPECULATIVE, refused, stricter, warned
from specdec_operator.engine.settled import WITHOUT_DRAFT, Settled

MOST: Final = 128
"""Draft tokens that the sampler of the older model runner has room for."""
_TREE: Final = 20_000

REQUIRED: Final = refused(
    "K-REQUIRED",
    "The number of draft tokens must be given, unless the draft's config or the method brings one.",
    SPECULATIVE,
)
MTP: Final = refused("K-MTP", "With mtp the number must be given, even where the draft's config has one.", SPECULATIVE)
DIVISIBLE: Final = refused(
    "K-PREDICT", "More tokens than the draft predicts at once must be a multiple of that number.", SPECULATIVE
)
LIMIT: Final = stricter(
    "K-128", "The sampler takes at most 128 draft tokens.", "v1/sample/rejection_sampler.py MAX_SPEC_LEN"
)
MEMORY: Final = refused(
    "K-TREE",
    "Up to 0.20 the default token tree takes memory that grows with the square of K.",
    "recorded",
    until="0.20",
)
HIDDEN: Final = stricter(
    "HIDDEN-K",
    "extract_hidden_states drafts exactly one token.",
    "v1/spec_decode/extract_hidden_states.py",
    since="0.17",
)
BLOCK: Final = warned(
    "K-BLOCK",
    "A block draft is trained for its block size; more tokens are accepted seldom.",
    "facts of the checkpoints",
    since="0.20",
)
MEDUSA: Final = stricter(
    "K-HEADS", "Medusa drafts one token for each of its heads.", "model_executor/models/medusa.py", until="0.32"
)
DSPARK: Final = refused(
    "K-DSPARK",
    "In 0.26 and 0.27 dspark needs at least as many tokens as its block.",
    SPECULATIVE,
    since="0.26",
    until="0.27",
)

RULES: Final = (REQUIRED, MTP, DIVISIBLE, MEMORY, DSPARK, LIMIT, HIDDEN, MEDUSA, BLOCK)

_AT: Final = "speculative_config.num_speculative_tokens"


def check(settled: Settled) -> Iterator[Finding]:
    """Whether K is there, and then whether it fits."""
    if not settled.speculates or any(each.key == "num_speculative_tokens" for each in settled.reading.misread):
        return
    given = settled.value("num_speculative_tokens")
    if given is None and settled.method == "mtp" and settled.opens is not None:
        yield MTP.broken(_AT, None, f"say how many tokens to draft; {_predicts(settled)}")
    elif settled.k is None:
        yield from _absent(settled)
    else:
        yield from _fits(settled.k, settled)
        yield from _suits(settled.k, settled)


def _absent(settled: Settled) -> Iterator[Finding]:
    unknown_draft = settled.opens is not None and settled.draft is None
    if not unknown_draft and settled.method is not None:
        yield REQUIRED.broken(_AT, None, "say how many tokens to draft; 3 is a good start")


def _predicts(settled: Settled) -> str:
    n = settled.draft.n_predict if settled.draft is not None else None
    return f"the model predicts {n} at once" if n else "1 is a good start"


def _fits(k: int, settled: Settled) -> Iterator[Finding]:
    """What the engine itself refuses."""
    draft = settled.draft if settled.word not in WITHOUT_DRAFT else None
    n = draft.n_predict if draft is not None and settled.method != "dspark" else None
    if n == 0 and k > 0:
        yield DIVISIBLE.broken(_AT, k, "the draft's config says that it predicts 0 tokens")
    elif n and k > n and k % n:
        yield DIVISIBLE.broken(
            _AT, k, f"{k} is above the {n} tokens the draft predicts at once, and no multiple of {n}"
        )
    if k > _TREE and settled.opens is not None:
        yield MEMORY.broken(_AT, k, f"{k} tokens make a tree of {k * k // 2} entries; use at most {MOST}")
    size = _block_size(settled)
    if settled.method == "dspark" and size and k < size:
        yield DSPARK.broken(_AT, k, f"{k} tokens are fewer than the draft's block of {size}")


def _suits(k: int, settled: Settled) -> Iterator[Finding]:
    """What the engine accepts and cannot do."""
    if k > MOST:
        yield LIMIT.broken(_AT, k, f"{k} draft tokens are more than the engine's {MOST}")
    if settled.method == "extract_hidden_states" and k != 1:
        yield HIDDEN.broken(_AT, k, "extract_hidden_states wants 1")
    heads = settled.draft.config.get("num_heads") if settled.draft is not None else None
    if settled.method == "medusa" and isinstance(heads, int) and k > heads:
        yield MEDUSA.broken(_AT, k, f"the draft has {heads} heads, one for each token")
    size = _block_size(settled)
    if settled.method == "dflash" and size and k > max(size - 1, 1):
        yield BLOCK.broken(_AT, k, f"the draft is trained for blocks of {size}: {size - 1} tokens")


def _block_size(settled: Settled) -> int | None:
    if settled.draft is None:
        return None
    sizes = (settled.draft.config.get(name) for name in ("block_size", "dspark_block_size"))
    return next((size for size in sizes if isinstance(size, int) and not isinstance(size, bool)), None)
