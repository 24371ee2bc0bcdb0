"""An engine under open-loop traffic, by ticks of half a second: many pods at once, quick enough for hours of services.

In each tick prompts are taken in first come, first served, and the time that is left goes to steps. A step takes base +
tok x tokens of it + kv x tokens of context, about an 8B on an H100; each answer gets the tokens that its own acceptance
brings. So a slow draft piles requests up, and longer prompts slow everything beside them.

Not simulated: single steps (those of a tick are equal), chance within an answer, a batch that is full (there is room
for every request), preemptions, restarts, reads that fail, and the time to the first token.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from lab.guard.traffic import TOKENS, Floats, each_position, on_grid, wander
from specdec_operator.guard.counters import Counters, SideCounters

TICK: Final = 0.5
"""Seconds."""
READ: Final = 15.0
"""Seconds between two readings."""
_BASE, _TOKEN, _CONTEXT = 7.5e-3, 4e-5, 4.85e-8
"""Seconds a step, a scheduled token, and a token of context that is read."""
_DRAFTED, _PROMPT = 3e-6, 2.5e-6
"""Seconds that drafting adds for each drafted token, and each prompt token."""
_BUDGET: Final = 2048
"""Tokens of a step: what the running answers leave of it is for prompts."""
_CACHED: Final = 0.2
"""Share of a prompt that is found in the cache."""
_LIKENESS: Final = 12.0
"""Sum of the parameters of the Beta distribution that the acceptance of each request is drawn from."""
_SPREADS: Final = (0.6, 0.7)
"""Standard deviation of the logarithm of the length of prompts and answers."""
_SWING, _SWING_SECONDS = 0.1, 600.0
"""By how much the rate of requests wanders, the same for all pods of a service."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestMix:
    """What requests are like. rate: a second and pod. prompt, answer: median tokens. singles: share of answers of one
    token.
    """

    rate: float = 2.0
    prompt: float = 1000.0
    answer: float = 250.0
    singles: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestStream:
    """The requests of one pod, in the order in which they come. length: tokens that a step with a draft brings."""

    begin: Floats
    prompt: Floats
    fresh: Floats
    answer: Floats
    length: Floats


def streams(
    number: int,
    mixes: tuple[tuple[float, RequestMix], ...],
    acceptance: float,
    seconds: float,
    chance: np.random.Generator,
) -> list[RequestStream]:
    """The requests of so many pods of one service. mixes: each with the moment from which on it holds, in seconds."""
    swing = wander(_SWING, _SWING_SECONDS, seconds, chance)
    return [_stream(mixes, acceptance, seconds, swing, chance) for _ in range(number)]


def _stream(
    mixes: tuple[tuple[float, RequestMix], ...],
    acceptance: float,
    seconds: float,
    swing: Floats,
    chance: np.random.Generator,
) -> RequestStream:
    ends = [*(start for start, _ in mixes[1:]), seconds]
    parts = [_requests(mix, start, end, swing, chance) for (start, mix), end in zip(mixes, ends, strict=True)]
    begin, prompt, answer = (np.concatenate(each) for each in zip(*parts, strict=True))
    rate = each_position(chance.beta(_LIKENESS * acceptance, _LIKENESS * (1 - acceptance), len(begin)))
    length = np.sum([rate**power for power in range(TOKENS + 1)], axis=0)
    return RequestStream(
        begin=begin, prompt=prompt, fresh=np.rint((1 - _CACHED) * prompt), answer=answer, length=length
    )


def _requests(
    mix: RequestMix, start: float, end: float, swing: Floats, chance: np.random.Generator
) -> tuple[Floats, Floats, Floats]:
    most = 1 + 5 * _SWING
    begin = np.sort(chance.uniform(start, end, chance.poisson(most * mix.rate * (end - start))))
    begin = begin[chance.random(len(begin)) * most < 1 + swing[on_grid(begin)]]
    prompt, answer = (
        np.maximum(least, np.rint(median * np.exp(chance.normal(0, spread, len(begin)))))
        for median, spread, least in zip((mix.prompt, mix.answer), _SPREADS, (16, 2), strict=True)
    )
    return begin, prompt, np.where(chance.random(len(begin)) < mix.singles, 1.0, answer)


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedPods:
    """Pods that run side by side, one row each. streams: the requests of each; two pods may have the same.

    draft: seconds that drafting adds to each step; below 0: a baseline pod. slowness: of each pod's machine by reading.
    """

    streams: list[RequestStream]
    draft: Floats
    slowness: Floats


class _Prompts:
    """The prompts of all pods, first come, first served."""

    def __init__(self, pods: list[RequestStream], ticks: int) -> None:
        self.number = np.array([len(each.begin) for each in pods])
        width = int(self.number.max()) + 1
        self.begin, self.answer, self.length, self.prompt = (
            np.stack(
                [np.pad(getattr(each, name), (0, width - len(each.begin)), constant_values=np.inf) for each in pods]
            )
            for name in ("begin", "answer", "length", "prompt")
        )
        summed = [np.concatenate(([0.0], np.cumsum(each.fresh))) for each in pods]
        self.end = np.stack([np.pad(each[1:], (0, width - len(each) + 1), constant_values=np.inf) for each in summed])
        when = TICK * np.arange(1, ticks + 1)
        self.come = np.stack(
            [sums[np.searchsorted(each.begin, when)] for sums, each in zip(summed, pods, strict=True)], axis=1
        )
        self.done, self.head = np.zeros(len(pods)), np.zeros(len(pods), dtype=np.int64)


_SLOTS: Final = 16
"""Answers at once that room is made for at first."""
_DRAFTS, _WRITTEN, _ANSWERED, _SECONDS, _TIMED, _ENDED, _PROMPTS, _RUNNING = range(8)


class _Batch:
    """The running answers of all pods; a slot is free where nothing is left to write. first: when the first token was
    written. totals: what the engines have counted.
    """

    def __init__(self, pods: SimulatedPods, ticks: int) -> None:
        rows = len(pods.streams)
        self.left, self.context, self.length, self.first, self.size = (np.zeros((rows, _SLOTS)) for _ in range(5))
        self.length += 1
        self.totals = np.zeros((8, rows))
        self.prompts, self.steps = _Prompts(pods.streams, ticks), np.full(rows, TICK / _BASE)
        drafts = pods.draft >= 0
        self.drafts, self.step = drafts, _BASE + np.maximum(0.0, pods.draft)
        self.each = np.where(drafts, (1 + TOKENS) * _TOKEN + TOKENS * _DRAFTED, _TOKEN)
        self.taken = np.where(drafts, 1 + TOKENS, 1)
        self.fresh = _TOKEN + np.where(drafts, _PROMPT, 0.0)

    def tick(self, number: int, slowness: Floats) -> None:
        """One tick. slowness: of each pod's machine."""
        begin, seconds = TICK * number, TICK / slowness
        ran = np.count_nonzero(self.left, axis=1)
        context = _CONTEXT * self.context.sum(axis=1)
        used = self._take_prompts(number, seconds, self.step + self.each * ran + context, _BUDGET - self.taken * ran)
        share = np.clip((begin + TICK - self.first) / TICK, 1e-9, 1.0)
        whole = self.steps[:, None] * self.length
        ran_for = np.minimum(share, self.left / whole).sum(axis=1)
        self.steps = np.maximum(1.0, (seconds - used) / (self.step + self.each * ran_for + context))
        able = self.steps[:, None] * share * self.length
        written = np.minimum(able, self.left)
        self._end(
            (written == self.left) & (self.left > 0), begin + TICK * (1 - share) + TICK * share * self.left / able
        )
        self.left -= written
        self.context += np.where(self.left > 0, written, -self.context)
        self.totals[_WRITTEN] += written.sum(axis=1)
        self.totals[_DRAFTS] += np.where(self.drafts, (written / self.length).sum(axis=1), 0.0)
        self.totals[_RUNNING] = np.count_nonzero(self.left, axis=1)

    def _end(self, ended: NDArray[np.bool_], at: Floats) -> None:
        self.totals[_SECONDS] += np.where(ended, at - self.first, 0.0).sum(axis=1)
        self.totals[_TIMED] += np.where(ended, self.size, 0.0).sum(axis=1)
        self.totals[_ENDED] += ended.sum(axis=1)

    def _take_prompts(self, number: int, seconds: Floats, step: Floats, room: Floats) -> Floats:
        """Takes in what fits of the prompts that have come; returns the seconds that it takes."""
        prompts, room = self.prompts, np.maximum(room, 1.0)
        tokens = np.minimum(prompts.come[number] - prompts.done, room * seconds / (step + room * self.fresh))
        before, prompts.done = prompts.done, prompts.done + tokens
        while len(rows := np.flatnonzero(prompts.end[np.arange(len(room)), prompts.head] <= prompts.done + 1e-6)):
            at = prompts.head[rows]
            taken = TICK * (prompts.end[rows, at] - before[rows]) / np.maximum(1.0, tokens[rows])
            self._answer(rows, at, np.maximum(prompts.begin[rows, at], TICK * number + np.clip(taken, 0.0, TICK)))
            prompts.head[rows] += 1
        taking: Floats = tokens * self.fresh
        return taking

    def _answer(self, rows: NDArray[np.int64], at: NDArray[np.int64], first: Floats) -> None:
        """The first token of one answer in each of these rows is written."""
        prompts, slot = self.prompts, np.argmin(self.left[rows], axis=1)
        if (self.left[rows, slot] > 0).any():
            for name, free in {"left": 0.0, "context": 0.0, "length": 1.0, "first": 0.0, "size": 0.0}.items():
                setattr(self, name, np.pad(getattr(self, name), ((0, 0), (0, _SLOTS)), constant_values=free))
            slot = np.argmin(self.left[rows], axis=1)
        more = prompts.answer[rows, at] - 1
        self.left[rows, slot] = self.size[rows, slot] = more
        self.context[rows, slot] = np.where(more > 0, prompts.prompt[rows, at], 0.0)
        self.length[rows, slot] = np.where(self.drafts[rows], prompts.length[rows, at], 1.0)
        self.first[rows, slot] = first
        self.totals[_ANSWERED, rows] += 1
        self.totals[_ENDED, rows] += more == 0
        self.totals[_PROMPTS, rows] += prompts.prompt[rows, at]


def run(pods: SimulatedPods) -> NDArray[np.float64]:
    """What each pod has counted at each reading: by reading, kind of count, and pod."""
    per, readings = round(READ / TICK), len(pods.slowness)
    batch, counted = _Batch(pods, per * readings), [np.zeros((8, len(pods.streams)))]
    for reading in range(readings):
        for each in range(per):
            batch.tick(per * reading + each, pods.slowness[reading])
        counted.append(batch.totals.copy())
    return np.stack(counted)


def pages(counted: Floats, *, speculative: bool) -> list[Counters]:
    """One pod's page at each reading. counted: by reading and kind of count."""
    return [
        Counters(
            drafts=drafts,
            draft_tokens=TOKENS * drafts,
            accepted_tokens=written - drafts if speculative else 0.0,
            generation_tokens=written + answered,
            token_seconds=seconds,
            timed_tokens=timed,
            requests=ended,
            first_tokens=answered,
            running=running,
            started=0.0,
            speculative=speculative,
            side=SideCounters(prompt_tokens=prompts),
        )
        for drafts, written, answered, seconds, timed, ended, prompts, running in counted.tolist()
    ]


def token_time(counted: Floats, since: int = 0) -> Floats:
    """True time per output token of each pod, over all readings from that one on."""
    total: Floats = counted[-1] - counted[since]
    each: Floats = total[_SECONDS] / total[_TIMED]
    return each
