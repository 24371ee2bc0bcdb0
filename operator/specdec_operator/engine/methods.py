"""What the guard has to know about each method. What the engine asks of it is in the rules."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from specdec_operator.api.speculation import Method


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodFacts:
    """Facts about one method.

    acceptance_rate_min: the guard's threshold where the user names none, in accepted / drafted tokens; None: what it
        drafts is not meant to be accepted.
    always_drafts: whether every decoding step drafts, so that no drafts under traffic means a fault.
    """

    acceptance_rate_min: float | None
    always_drafts: bool


def _facts(rate: float | None, *, always: bool = True) -> MethodFacts:
    return MethodFacts(acceptance_rate_min=rate, always_drafts=always)


METHODS: Final[Mapping[Method, MethodFacts]] = MappingProxyType(
    {
        # Draft pairs live at 0.6-0.8, and alerts in the field are set at 0.50; 0.40 leaves room for hard traffic.
        Method.DRAFT_MODEL: _facts(0.40),
        # Trained heads live at 0.75-0.92 at small K; what they accept falls with every further position.
        Method.EAGLE: _facts(0.35),
        Method.EAGLE3: _facts(0.40),
        Method.MTP: _facts(0.50),
        Method.MEDUSA: _facts(0.30),
        # Whole blocks of 7 to 15 tokens at once: most of a block is refused even when it pays.
        Method.DFLASH: _facts(0.20),
        Method.DSPARK: _facts(0.20),
        # Look-up lives at 0.30-0.60 and costs little when it misses; text without repetition drafts nothing at all.
        Method.NGRAM: _facts(0.20, always=False),
        Method.NGRAM_GPU: _facts(0.20, always=False),
        Method.SUFFIX: _facts(0.20, always=False),
        # A class of the user's own may draft when it likes; its hits are judged as a look-up's are.
        Method.CUSTOM_CLASS: _facts(0.20, always=False),
        Method.EXTRACT_HIDDEN_STATES: _facts(None, always=False),
        Method.MLP_SPECULATOR: _facts(None),  # never deployed: the API refuses it
    }
)
