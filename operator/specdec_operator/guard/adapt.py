"""Adapt: the number of draft tokens by load, set in running pods as their own dips show it (docs/guard.md). Pure.

After each change the evidence begins again, so that what is compared is always what the present rows draft. A dip
compares a row with another number in the same pod and second: with nothing, with fewer tokens, and with the most.
Docstrings of rules are lines of the documentation.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from specdec_operator.api.guard import GuardMode
from specdec_operator.guard.decisions import Adaptation
from specdec_operator.guard.gain import FEWEST_IN_STEPS, DipGain, DipSpan, is_tried, speed_in
from specdec_operator.guard.rows import SIZES, Rows, WantedRows, rows_by_size, rows_text, tokens_at
from specdec_operator.guard.state import Observation, State
from specdec_operator.guard.verdict import Outcome
from specdec_operator.guard.what_if import WORTH

ADAPTED: Final = "Adapted"
NOT_FOLLOWED: Final = "NotFollowed"
PAUSE: Final = 300.0
"""Seconds between two changes, at least."""
AFTER_TROUBLE: Final = 3600.0
"""Seconds without rows after some pods did not follow them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tried:
    """Another number at one load. speed: of it, times that of the present one; low: the lower bound of that."""

    batch: int
    present: int
    tokens: int
    speed: float
    low: float
    dips: float

    @property
    def text(self) -> str:
        """With its numbers."""
        load, tokens = f"with up to {self.batch} running requests", str(self.tokens or "none")
        faster = f"{self.speed:.2f} times as fast as {self.present or 'none'}"
        return f"{load} {tokens} is {faster} (at least {self.low:.2f}, {self.dips:.0f} dips)"


def wanted_rows(span: DipSpan, gain: DipGain | None, present: Rows, tokens: int) -> WantedRows | None:
    """What is to be drafted by load; None if nothing surely pays more than the present rows.

    span: the dips since these rows are followed; gain: by them, over all loads. tokens: K of the flags, the most.
    """
    surely = {each.batch: each for each in _surely(span, present, tokens)}
    found, message = {batch: each.tokens for batch, each in surely.items()}, "; ".join(t.text for t in surely.values())
    if gain is not None and gain.high < 1 and (slow := _slow(span, present, tokens) - found.keys()):
        found |= dict.fromkeys(slow, 0)
        loads = ", ".join(map(str, sorted(slow)))
        pooled = (
            f"drafting gains {gain.gain:.2f} over all loads, {gain.high:.2f} at most ({gain.dips} dips), and less than "
            f"1 with up to {loads} running requests"
        )
        message = "; ".join(filter(None, (message, pooled)))
    if not found:
        return None
    rows = _rows(found, max(_seen(span)), present, tokens)
    return None if rows == present else WantedRows(rows=rows, message=message)


def _seen(span: DipSpan) -> set[int]:
    """The loads with steps or dips."""
    return {batch for _, batch in span.kinds if batch} | {batch for _, batch, _ in span.other.dips if batch}


def _surely(span: DipSpan, present: Rows, tokens: int) -> Iterator[_Tried]:
    """At each load the number with the highest lower bound, if it is surely faster, and worth a change."""
    for batch in sorted(_seen(span)):
        tried = [*_tried(span, batch, tokens_at(present, batch, tokens), tokens)]
        better = [each for each in tried if each.low > 1 and each.speed >= WORTH]
        if better:
            yield max(better, key=lambda each: each.low)


def _tried(span: DipSpan, batch: int, present: int, most: int) -> Iterator[_Tried]:
    """The numbers that dips have tried at a load, where the tokens of a step are known with both."""
    now = _length(span, batch, present, present)
    nothing = span.kinds.get((present, batch))
    others = {dip: each for (home, at, dip), each in span.other.dips.items() if (home, at) == (present, batch)}
    dips = others | ({0: nothing} if present and nothing else {})
    for tokens, each in sorted(dips.items()):
        length = _length(span, batch, tokens, present)
        if now is None or length is None or not is_tried(each) or tokens > most or tokens == present:
            continue
        speed, low = speed_in(each, length / now)
        yield _Tried(batch=batch, present=present, tokens=tokens, speed=speed, low=low, dips=each.dips)


def _length(span: DipSpan, batch: int, tokens: int, present: int) -> float | None:
    """Tokens of a step and request that drafts so many; None if too little is known. A smaller number than the present
    one has the acceptance of its first positions; a larger one that of its own steps, which are in dips.
    """
    if not tokens:
        return 1.0
    drafted = max(tokens, present)
    steps, accepted = span.kinds.get((drafted, batch)), span.other.accepted.get((drafted, batch), ())
    if steps is None or steps.requests < FEWEST_IN_STEPS:
        return None
    if tokens == drafted:
        return steps.length
    return 1 + sum(accepted[:tokens]) / steps.requests if accepted else None


def _slow(span: DipSpan, present: Rows, tokens: int) -> set[int]:
    """The loads at which drafting seems not to pay. The proof is of all of them together, and not of each."""
    return {
        batch
        for (home, batch), each in span.kinds.items()
        if batch and home == tokens_at(present, batch, tokens)
        if each.is_known and each.length * each.ratios / each.dips < 1
    }


def _rows(found: Mapping[int, int], largest: int, present: Rows, tokens: int) -> Rows:
    """The rows with some loads changed. A load that was not seen keeps its number, but above the largest one that was
    seen it is at most that one's if that one's fell: a draft pays less the larger the load.
    """
    sizes = {size: found.get(size, tokens_at(present, size, tokens)) for size in SIZES}
    if largest in found and found[largest] < tokens_at(present, largest, tokens):
        sizes |= {size: min(each, found[largest]) for size, each in sizes.items() if size > largest}
    rows = rows_by_size(sizes)
    return () if {each.tokens for each in rows} == {tokens} else rows


def rows_are_not_wanted(state: State, observation: Observation, now: float) -> bool:
    """`guard.tokens` is not Adapt, the guard's mode is not Enforce, the user's own setting of the dial is asked for, or
    something else than the requested speculation is served.
    """
    policy = observation.policy
    other = observation.by_hand or state.rollback is not None or state.reduced is not None
    return state.adapted is not None and (not policy.adapts or policy.mode is not GuardMode.ENFORCE or other)


def drop_rows(state: State, observation: Observation, now: float) -> State:
    """Watching, with the same number of tokens at each load."""
    return replace(state, adapted=None)


def rows_are_not_followed(state: State, observation: Observation, now: float) -> bool:
    """Rows are set, and a pod was read not to follow for 20 s, or not to answer, or the operator has no permission to
    set its dial.
    """
    waits = observation.by_hand or not observation.policy.acts
    return bool(state.adapted_rows) and bool(observation.dial_trouble) and not waits


def do_without_rows(state: State, observation: Observation, now: float) -> State:
    """Watching, with the same number of tokens at each load for an hour."""
    message = f"not all pods follow the rows, so each load has the same number again: {observation.dial_trouble}"
    return replace(state, adapted=Adaptation(reason=NOT_FOLLOWED, message=message, at=now))


def other_rows_pay(state: State, observation: Observation, now: float) -> bool:
    """`guard.tokens` is Adapt, and in a window that did not fail, dips show that another number of tokens surely pays
    more at some load. All pods have a dial, and the last change was five minutes ago at least.
    """
    verdict, last, policy = observation.verdict, state.adapted, observation.policy
    wanted, may = observation.rows, policy.adapts and policy.acts and observation.dials and not observation.by_hand
    if wanted is None or verdict is None or verdict.outcome is Outcome.FAIL or not may:
        return False
    pause = AFTER_TROUBLE if last is not None and last.reason == NOT_FOLLOWED else PAUSE
    return wanted.rows != state.adapted_rows and (last is None or now - last.at >= pause)


def set_rows(state: State, observation: Observation, now: float) -> State:
    """Watching, with so many tokens by load, from the next steps of the running pods on."""
    wanted = observation.rows
    if wanted is None:
        return state
    rows = rows_text(wanted.rows) if wanted.rows else "the requested number at each load again"
    adapted = Adaptation(reason=ADAPTED, message=f"draft tokens: {rows}: {wanted.message}", at=now, rows=wanted.rows)
    return replace(state, adapted=adapted)
