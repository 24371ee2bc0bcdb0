"""What windows are compared with."""

from dataclasses import dataclass
from typing import Final

from specdec_operator.api.guard import Guard
from specdec_operator.engine.methods import MethodFacts
from specdec_operator.guard.baseline import Baseline

_LONGEST_GAP: Final = 3.0
"""Intervals without a reading after which a window does not count."""
_LONGEST_DRAFT: Final = 128
"""K where the draft itself decides it: the engine's own bound, with which no chance is taken for a fault."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Thresholds:
    """What a window is compared with.

    acceptance_rate: accepted / drafted tokens, at least. acceptance_length: 1 + accepted tokens / drafts, at least.
    speedup: plain time per output token / that with speculation at the same load, at least.
    time_per_output_token: at most, in seconds. baseline: the plain service by load, as far as it is known.
    min_draft_tokens: fewer drafted tokens prove nothing. always_drafts: whether the method drafts at every step.
    longest_gap: longest time without a reading that still counts as a full window, in seconds.
    draft_length: K, tokens drafted per step. plain: whether there is no draft to be judged, but only speed.
    direct: whether the pods were asked themselves, so that a series that is not told is not there.
    """

    acceptance_rate: float | None
    acceptance_length: float | None
    min_draft_tokens: int
    always_drafts: bool
    longest_gap: float
    draft_length: int
    speedup: float | None = None
    time_per_output_token: float | None = None
    baseline: Baseline = ()
    plain: bool = False
    direct: bool = True

    @property
    def silent(self) -> bool:
        """Whether a window has no verdict: a plain service is judged only where an SLO asks for it."""
        return self.plain and self.time_per_output_token is None


def thresholds(
    guard: Guard, method: MethodFacts | None, *, tokens: int, baseline: Baseline = (), pauses: bool = False
) -> Thresholds:
    """What the user asks for; what is left out comes from the method.

    method: None for a plain service, which is asked for nothing but its speed. tokens: K, 0 where the draft decides it.
    pauses: whether a large batch is served without a draft.
    """
    usual = method.acceptance_rate_min if method else None
    rate = guard.acceptance_rate.min if guard.acceptance_rate else usual
    return Thresholds(
        acceptance_rate=rate if method else None,
        acceptance_length=guard.acceptance_length.min if guard.acceptance_length and method else None,
        speedup=guard.speedup.min if guard.speedup and method else None,
        time_per_output_token=guard.time_per_output_token.max if guard.time_per_output_token else None,
        min_draft_tokens=guard.min_draft_tokens,
        always_drafts=method is not None and method.always_drafts and not pauses,
        longest_gap=_LONGEST_GAP * guard.interval,
        draft_length=tokens or _LONGEST_DRAFT,
        baseline=baseline,
        plain=method is None,
        direct=guard.source is None,
    )
