"""How long a sequence may be, for the target and for the draft."""

from collections.abc import Iterator
from typing import Final

from specdec_operator.engine import flags
from specdec_operator.engine.rule import Finding
from specdec_operator.engine.rules.making import SPECULATIVE, refused, warned
from specdec_operator.engine.settled import Settled

TARGET: Final = refused(
    "CONTEXT-TARGET",
    "max_model_len is at most what the target's config allows.",
    "config/model.py _get_and_verify_max_len",
)
DRAFT: Final = refused(
    "CONTEXT-DRAFT",
    "The draft's max_model_len is at most what its config allows, and at most the target's.",
    f"{SPECULATIVE} _maybe_override_draft_max_model_len",
)
SHORT: Final = warned(
    "CONTEXT-HEAD",
    "Up to 0.26 a head whose positions end before the target's reads beyond its table.",
    "vllm issue 48894",
    until="0.26",
)

MODEL: Final = warned(
    "CONTEXT-SHORT",
    "Beyond the draft model's own context its tokens are never accepted.",
    "measured on 0.32.0: acceptance falls to nothing",
    since="0.15",
)

RULES: Final = (TARGET, DRAFT, SHORT, MODEL)

_FIELD: Final = "speculative_config.max_model_len"


def check(settled: Settled) -> Iterator[Finding]:
    """The target's length, then the draft's."""
    case, target = settled.case, settled.target
    asked = flags.size(case, "max_model_len", 0) or 0
    allowed = target.context if target is not None else None
    above = allowed is not None and asked > allowed
    if target is not None and above and not flags.allows_long_context(case):
        own = target.text.get("model_max_length")
        if not isinstance(own, int) or asked > own:
            yield TARGET.broken("args.max_model_len", asked, f"{asked} is above the config's {allowed} tokens")
    if settled.opens is not None and settled.speculates and settled.method is not None:
        yield from _draft(settled)


def _draft(settled: Settled) -> Iterator[Finding]:
    asked, longest = settled.value("max_model_len"), flags.context(settled.case, settled.target)
    allowed = settled.draft.context if settled.draft is not None else None
    if asked is not None and allowed is not None and asked > allowed and not _trusted(settled):
        yield DRAFT.broken(_FIELD, asked, f"{asked} is above the draft's {allowed} tokens")
    elif asked is not None and longest is not None and asked > longest:
        yield DRAFT.broken(_FIELD, asked, f"{asked} is above the target's {longest} tokens")
    if allowed is not None and longest is not None and allowed < longest:
        yield from _short(allowed, longest, settled)


def _short(allowed: int, longest: int, settled: Settled) -> Iterator[Finding]:
    """A draft whose positions end before the target's."""
    field = "draft.max_position_embeddings"
    if settled.method in ("eagle", "eagle3"):
        message = f"the head knows {allowed} positions and the target runs to {longest}; set max_model_len to {allowed}"
        yield SHORT.broken(field, allowed, message)
    if settled.method == "draft_model":
        yield MODEL.broken(field, allowed, f"the draft knows {allowed} positions, the target runs to {longest}")


def _trusted(settled: Settled) -> bool:
    """Whether the engine believes a longer length than the draft's config: since 0.25 it reads the same variable."""
    return settled.at_least("0.25") and flags.allows_long_context(settled.case)
