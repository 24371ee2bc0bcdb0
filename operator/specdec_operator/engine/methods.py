"""What is known about each method: whether it needs a draft, whether it drafts at every step, what to expect of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from specdec_operator.api.spec import Method


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodFacts:
    """Facts about one method.

    acceptance_rate_min: the guard's threshold where the user names none, in accepted / drafted tokens.
    always_drafts: whether every decoding step drafts, so that no drafts under traffic means a fault.
    """

    acceptance_rate_min: float
    always_drafts: bool


METHODS: Final[Mapping[Method, MethodFacts]] = MappingProxyType(
    {
        # Draft pairs live at 0.6-0.8, and alerts in the field are set at 0.50; 0.40 leaves room for hard traffic.
        Method.DRAFT_MODEL: MethodFacts(acceptance_rate_min=0.40, always_drafts=True),
        # Look-up lives at 0.30-0.60 and costs little when it misses; text without repetition drafts nothing at all.
        Method.NGRAM: MethodFacts(acceptance_rate_min=0.20, always_drafts=False),
    }
)
