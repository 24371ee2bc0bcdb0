"""Multi-token prediction: heads that are there, and that belong to the target."""

from collections.abc import Iterator
from typing import Final

from specdec_operator.engine.facts import Facts
from specdec_operator.engine.families import as_drafter, assumes_heads
from specdec_operator.engine.rule import Finding
from specdec_operator.engine.rules.making import RECORDED, SPECULATIVE, stricter, warned
from specdec_operator.engine.settled import Settled
from specdec_operator.engine.version import Flavor

NO_HEADS: Final = stricter("MTP-HEADS", "An mtp checkpoint says how many drafting heads it has.", RECORDED)
OTHER: Final = stricter("MTP-OTHER", "The heads that mtp runs are trained for this very target.", RECORDED)
EAGER: Final = warned(
    "MTP-EAGER", "DeepSeek V3.2 heads run without CUDA graphs up to 0.28.", SPECULATIVE, until="0.28", on=(Flavor.VLLM,)
)

RULES: Final = (NO_HEADS, OTHER, EAGER)


def check(settled: Settled) -> Iterator[Finding]:
    """Whether the heads can draft for this target."""
    if settled.speculates and settled.method == "mtp" and settled.draft is not None:
        yield from _heads(settled.draft, settled)


def _heads(draft: Facts, settled: Settled) -> Iterator[Finding]:
    """Multi-token prediction: heads that are there, and belong to this target."""
    unsaid = draft.n_predict is None and not assumes_heads(draft.model_type)
    if draft.n_predict == 0 or unsaid:
        message = "the config does not say that the checkpoint has drafting heads; they were left out"
        yield NO_HEADS.broken("draft.n_predict", draft.n_predict, message)
    target = settled.target
    if target is not None and not settled.own and draft.model_type != "gemma4_mtp":
        family = as_drafter(target, settled.version).model_type
        if family != draft.model_type:
            message = f"the heads are of {draft.model_type}, the target is {target.model_type}; leave `model` out"
            yield OTHER.broken("draft.model_type", draft.model_type, message)
    if target is not None and target.model_type == "deepseek_v32":
        yield EAGER.broken("target.model_type", target.model_type, "decoding is slower until 0.29")
