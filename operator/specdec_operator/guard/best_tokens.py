"""Which number of draft tokens is the fastest at each load, by the engines' own steps: dips show the seconds of steps
with fewer tokens, and the acceptance by position the tokens that they bring. Pure.

With K' < K the same answer takes more steps. The additional ones probably lie in runs that the draft guesses, so K' can
be better than shown here. A larger K than the one that runs is never tried. Nothing at some loads is not compared: at 0
of its own schedule vLLM runs the draft all the same, and in a dip it does not.
"""

from dataclasses import dataclass

from specdec_operator.guard.dips import DipTotals, homes
from specdec_operator.guard.gain import FEWEST_IN_STEPS, DipSpan, is_tried, speed_in
from specdec_operator.guard.rows import SIZES, Rows, rows_by_size
from specdec_operator.guard.what_if import WORTH, Advice


@dataclass(frozen=True, slots=True, kw_only=True)
class TokensAtLoad:
    """The fastest K at one load. batch: running requests, rounded up to a power of two. home: the K that runs there.

    tokens: the fastest. speed: of it, times that of `home`; low: its lower bound. dips: how many show it; 0 for `home`.
    """

    batch: int
    home: int
    tokens: int
    speed: float = 1.0
    low: float = 1.0
    dips: int = 0

    @property
    def is_other(self) -> bool:
        """Whether another K than the present one is faster."""
        return self.tokens != self.home


def fastest(span: DipSpan) -> tuple[TokensAtLoad, ...]:
    """The fastest K at each load that was seen, smallest load first: where too little is known, the K that runs."""
    by_batch = homes(span.kinds)
    return tuple(_at(span, batch, by_batch[batch]) for batch in sorted(by_batch) if batch)


def _at(span: DipSpan, batch: int, home: int) -> TokensAtLoad:
    """The K with the highest lower bound, if that is above 1 and the K is worth a change; else the K that runs."""
    requests, accepted = span.kinds[home, batch].requests, span.other.accepted.get((home, batch), ())
    stays = TokensAtLoad(batch=batch, home=home, tokens=home)
    if requests < FEWEST_IN_STEPS or not accepted:
        return stays
    lengths = [1 + sum(accepted[:tokens]) / requests for tokens in range(home + 1)]
    tried = (
        _speed(stays, dip, each, lengths[dip] / lengths[home])
        for (tokens, size, dip), each in span.other.dips.items()
        if (tokens, size) == (home, batch) and dip < home
        if is_tried(each)
    )
    surely = (each for each in tried if each.low > 1 and each.speed >= WORTH)
    return max(surely, key=lambda each: each.low, default=stays)


def _speed(stays: TokensAtLoad, tokens: int, dips: DipTotals, length: float) -> TokensAtLoad:
    """What a K that was tried comes to. length: of its steps, times that of the present K's."""
    speed, low = speed_in(dips, length)
    return TokensAtLoad(batch=stays.batch, home=stays.home, tokens=tokens, speed=speed, low=low, dips=round(dips.dips))


def advice(loads: tuple[TokensAtLoad, ...]) -> Advice | None:
    """The recommendation that follows: one K for all loads, or K by load; None if the present K is the fastest. loads:
    of one K that runs.
    """
    others = [each for each in loads if each.is_other]
    if not others:
        return None
    message = "; ".join(map(_text, others))
    if len({each.tokens for each in loads}) == 1:
        return Advice(tokens=others[0].tokens, message=message)
    return Advice(tokens=others[0].home, by_batch_size=_schedule(loads), message=message)


def _text(found: TokensAtLoad) -> str:
    tokens = "1 token is" if found.tokens == 1 else f"{found.tokens} tokens are"
    return (
        f"with up to {found.batch} running requests {tokens} {found.speed:.2f} times as fast as {found.home} (at least "
        f"{found.low:.2f}, {found.dips} dips)"
    )


def _schedule(loads: tuple[TokensAtLoad, ...]) -> Rows:
    """The K by load. A load that was not seen has the K that runs; above the largest one that was seen, its K holds."""
    known = {each.batch: each.tokens for each in loads}
    home, largest = loads[-1].home, loads[-1].batch
    return rows_by_size({size: known.get(size, home) for size in SIZES if size <= largest})
