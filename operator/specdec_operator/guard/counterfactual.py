"""What fewer tokens per step would have done, out of what each position of the draft really did. It costs nothing.

With K' < K the first K' positions are drafted and judged as they are now, so their counters are those of K' as well.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

from specdec_operator.guard.evidence import Evidence
from specdec_operator.guard.policy import Thresholds
from specdec_operator.guard.verdict import Outcome, Verdict

_WORTH: Final = 1.05
"""How much faster another K has to be, by the estimate, to be recommended over one that passes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fewer:
    """What a window would have shown with `tokens` tokens per step.

    rate: accepted / drafted tokens. length: tokens per step of the target. speedup: against plain, an estimate; None
    where the present one is not known. passes: whether no threshold is missed.
    """

    tokens: int
    rate: float
    length: float
    speedup: float | None
    passes: bool


def fewer_tokens(evidence: Evidence, thresholds: Thresholds, speedup: float | None) -> tuple[Fewer, ...]:
    """A row for each K' from 1 to K, of one window. speedup: of that window, against plain.

    Empty where nothing was drafted or the engine does not count positions.
    """
    if evidence.drafts <= 0 or not evidence.accepted_per_position:
        return ()
    rows, cost = [], _cost(evidence, speedup)
    for tokens, accepted in enumerate(accumulate(evidence.accepted_per_position), start=1):
        length = 1 + accepted / evidence.drafts
        estimate = None if cost is None else length / (1 + cost * tokens)
        rate = min(1.0, accepted / (evidence.drafts * tokens))
        passes = _passes(rate, length, estimate, thresholds)
        rows.append(Fewer(tokens=tokens, rate=rate, length=length, speedup=estimate, passes=passes))
    return tuple(rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """What the numbers of one window speak for. tokens: per step; 0: no speculation."""

    tokens: int
    message: str


def advise(rows: tuple[Fewer, ...], verdict: Verdict, fewer: int | None) -> Advice | None:
    """What a window speaks for; None where it proves nothing, or nothing better is known.

    fewer: the largest K' that would have passed.
    """
    by_tokens = {row.tokens: row for row in rows}
    match verdict.outcome:
        case Outcome.FAIL if verdict.pods:
            return None  # the pod is to blame
        case Outcome.FAIL if fewer is not None:
            return Advice(tokens=fewer, message=f"{_text(by_tokens[fewer])}: that would have passed")
        case Outcome.FAIL:
            return Advice(tokens=0, message=f"serve without speculation: {verdict.message}")
        case Outcome.PASS if rows and rows[-1].speedup is not None:
            best = max(rows, key=lambda row: row.speedup or 0.0)
            if (best.speedup or 0.0) >= _WORTH * rows[-1].speedup:
                return Advice(tokens=best.tokens, message=f"{_text(best)}: that would be faster than {rows[-1].tokens}")
    return None


def _text(row: Fewer) -> str:
    speed = f", speedup {row.speedup:.2f} by estimate" if row.speedup is not None else ""
    return f"with {row.tokens} tokens: acceptance {row.rate:.2f}, {row.length:.2f} tokens a step of the target{speed}"


def most_that_pass(rows: Iterable[Fewer], below: int) -> int | None:
    """The largest K' < `below` that would have passed; None where none would."""
    return max((row.tokens for row in rows if row.passes and row.tokens < below), default=None)


def _cost(evidence: Evidence, speedup: float | None) -> float | None:
    """Time of one drafted token / time of one step of the target, from speedup = length / (1 + cost K).

    Source: Leviathan, Kalman, Matias, ICML 2023 (arXiv 2211.17192), section 3.3, solved for the cost.
    """
    length, tokens = evidence.acceptance_length, len(evidence.accepted_per_position)
    if speedup is None or speedup <= 0 or length is None:
        return None
    return max(0.0, (length / speedup - 1) / tokens)


def _passes(rate: float, length: float, speedup: float | None, thresholds: Thresholds) -> bool:
    return (
        (thresholds.acceptance_rate is None or rate >= thresholds.acceptance_rate)
        and (thresholds.acceptance_length is None or length >= thresholds.acceptance_length)
        and (thresholds.speedup is None or speedup is None or speedup >= thresholds.speedup)
    )
