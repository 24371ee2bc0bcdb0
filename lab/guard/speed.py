"""The never-slower gate over simulated traffic: the baseline is measured first, then speculation becomes slow."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

import numpy as np

from lab.guard.rules import POD, told
from lab.guard.traffic import BURSTY, TOKENS, Floats, arrivals, on_grid, pieces, summed, wander
from specdec_operator.guard.counters import Counters
from specdec_operator.guard.policy import Policy, Thresholds
from specdec_operator.guard.sampler import Schedule, add, start
from specdec_operator.guard.state import Phase, State
from specdec_operator.guard.transitions import advance

BASELINE_SECONDS: Final = 0.03
"""Baseline time per output token of a request that runs alone."""
PER_REQUEST: Final = 0.01
"""By how much of it each further request in the batch slows all of them."""
SCATTER: Final = {False: 0.10, True: 0.25}
"""Standard deviation of the logarithm of one request's time per output token: plain, and with speculation."""
NEIGHBOURS: Final = 0.04
"""The same of the machine's own speed, which wanders, and forgets in a minute."""
_ACCEPTANCE: Final = 0.7
_MEDIAN_TOKENS: Final = 300.0
_SPREAD_TOKENS: Final = 0.8


def readings(speedup: Floats, volume: float, tick: float, chance: np.random.Generator) -> list[Counters]:
    """The page at each tick. speedup: the true one in each tick, against plain at the same load; all 1: plain.

    volume: requests a second. A request is counted when it ends, as the engine does.
    """
    ticks, seconds = len(speedup), len(speedup) * tick
    speculative = bool((speedup != 1).any())
    begin = np.sort(arrivals(BURSTY, volume, seconds, chance))
    tokens = np.maximum(2, np.rint(_MEDIAN_TOKENS * np.exp(chance.normal(0, _SPREAD_TOKENS, len(begin)))))
    scatter, noise = SCATTER[speculative], wander(NEIGHBOURS, 60.0, seconds, chance)
    own = np.exp(chance.normal(-scatter * scatter / 2, scatter, len(begin)) + noise[on_grid(begin)])
    alone = own * BASELINE_SECONDS / speedup[np.clip((begin / tick).astype(np.int64), 0, ticks - 1)]
    ends = np.sort(begin + tokens * alone)
    concurrent = np.arange(len(begin)) - np.searchsorted(ends, begin)
    each = alone * (1 + PER_REQUEST * np.maximum(0, concurrent))
    return pages_of(begin, tokens, each, ticks, tick, speculative=speculative)


def pages_of(
    begin: Floats, tokens: Floats, each: Floats, ticks: int, tick: float, *, speculative: bool
) -> list[Counters]:
    end = begin + tokens * each
    written, _, at = pieces(begin, tokens.astype(np.int64), each, ticks, tick)
    generated = summed(written, at, ticks).tolist()
    when = tick * np.arange(ticks + 1)
    ended, order = np.searchsorted(np.sort(end), when, side="right"), np.argsort(end)
    seconds = np.concatenate(([0.0], np.cumsum((each * tokens)[order])))[ended].tolist()
    timed = np.concatenate(([0.0], np.cumsum(tokens[order])))[ended].tolist()
    running = (np.searchsorted(begin, when, side="right") - ended).tolist()
    length = 1 + TOKENS * _ACCEPTANCE if speculative else 0.0
    return [
        Counters(
            drafts=(drafts := count / length if length else 0.0),
            draft_tokens=TOKENS * drafts,
            accepted_tokens=count - drafts if length else 0.0,
            generation_tokens=count,
            token_seconds=total,
            timed_tokens=tokens_of_these,
            requests=number,
            running=concurrent,
            started=0.0,
            speculative=speculative,
        )
        for count, total, tokens_of_these, number, concurrent in zip(
            generated, seconds, timed, ended.tolist(), running, strict=True
        )
    ]


def serve(
    baseline: Iterator[Counters], speculating: list[Counters], limits: Thresholds, policy: Policy, rhythm: Schedule
) -> int | None:
    """One service from its beginning: plain until that is measured, then with speculation.

    Returns the tick of `speculating` at which that is taken out; None: it stays to the end.
    """
    state, now = _measured(baseline, replace(limits, of_baseline=True), policy, rhythm)
    limits, watched, judged = replace(limits, baseline=state.baseline), None, None
    for place, reading in enumerate(speculating):
        at = now + place * rhythm.interval
        if state.phase is Phase.WATCHING:
            watched, judged = add(watched or start(at, rhythm), {POD: reading}, limits, rhythm, at)
        state = advance(state, told(state, policy, judged), at)
        if state.rollback is not None:
            return place
    return None


def _measured(
    baseline: Iterator[Counters], limits: Thresholds, policy: Policy, rhythm: Schedule
) -> tuple[State, float]:
    """The state once the baseline is measured or the wait for it has ended, and when that is."""
    state = State(phase=Phase.MEASURING_BASELINE, since=0.0, speculation=POD, revision=POD, measuring=True)
    watched, now = start(0.0, rhythm), 0.0
    while True:
        watched, judged = add(watched, {POD: next(baseline)}, limits, rhythm, now)
        state = advance(state, told(state, policy, judged), now)
        if not state.serves_baseline:
            return state, now
        now += rhythm.interval
