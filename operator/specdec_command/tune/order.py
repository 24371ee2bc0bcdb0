"""What the user wants tried, and in which order. Light to import. Pure."""

import random
from dataclasses import dataclass
from itertools import cycle, islice
from typing import Any, Final

from specdec_command.measure.benchmark import Load
from specdec_command.measure.prompts import Prompt
from specdec_command.measure.requests import GREEDY, SEED, Sampling
from specdec_operator.errors import Invalid

_ALL_UP_TO: Final = 5
"""Numbers of tokens that are all tried; of more, the powers of two."""
_FEWEST_PROMPTS: Final = 8
_FOR_EACH: Final = 3
"""Prompts of a round, at least, and for each request at once: at its end fewer requests run than at the load."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What an answer may take at most, in seconds, by the median over the prompts of a round. None: no limit."""

    first_token: float | None = None
    per_token: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TuneOrder:
    """What is tried. source: where the prompts come from; digest: identifies them. tokens: empty for those of
    tokens_to_try; concurrencies: requests at once.
    """

    source: str
    prompts: int
    digest: str
    concurrencies: tuple[int, ...]
    tokens: tuple[int, ...]
    repeats: int
    max_tokens: int
    sampling: Sampling = GREEDY
    limits: Limits = Limits()

    @property
    def request(self) -> dict[str, Any]:
        """The options of every request next to its prompt."""
        return self.sampling.options(self.max_tokens)


@dataclass(frozen=True, slots=True, kw_only=True)
class TuneJob:
    """An order and where it is carried out. namespace: None is the kubeconfig's. at: now, for the proof."""

    namespace: str | None
    name: str
    order: TuneOrder
    prompts: tuple[Prompt, ...]
    at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TuneRound:
    """Some prompts once, with one number of draft tokens. repeat: from 1; number: of the round, from 1."""

    number: int
    load: Load
    repeat: int
    tokens: int

    @property
    def words(self) -> str:
        """As a line of progress has it."""
        return f"{self.load.words}, {self.tokens or 'no'} draft tokens, repeat {self.repeat}"


def tokens_to_try(most: int, wanted: tuple[int, ...]) -> tuple[int, ...]:
    """Numbers of draft tokens, smallest first: those that are wanted, and the requested one, which all are compared
    with. most: the requested one. Raises Invalid for a larger number: a dial only lowers.
    """
    if too_many := [each for each in wanted if each > most]:
        rule = f"must be numbers up to {most}, the tokens of spec.speculation: a running engine cannot draft more"
        raise Invalid("--tokens", too_many[0], rule)
    powers = tuple(1 << power for power in range(most.bit_length()) if 1 << power < most)
    usual = range(most + 1) if most <= _ALL_UP_TO else (0, *powers)
    return tuple(sorted({*(wanted or usual), most}))


def rounds(concurrencies: tuple[int, ...], tokens: tuple[int, ...], repeats: int) -> tuple[TuneRound, ...]:
    """Every number of tokens once in each repeat, in random order, and in the next repeat the other way round: a noisy
    minute hits all of them, and of any two each is the first one as often.
    """
    chance = random.Random(SEED)  # noqa: S311 - an order, not a secret
    turns: list[tuple[Load, int, int]] = []
    for concurrency in concurrencies:
        order: list[int] = []
        for repeat in range(1, repeats + 1):
            order = order[::-1] if repeat % 2 == 0 else chance.sample(tokens, len(tokens))
            turns += [(Load(concurrency=concurrency), repeat, each) for each in order]
    return tuple(
        TuneRound(number=number, load=load, repeat=repeat, tokens=each)
        for number, (load, repeat, each) in enumerate(turns, start=1)
    )


def request_of(turn: TuneRound, order: TuneOrder, run: str) -> dict[str, Any]:
    """The options of every request of a round. Its prefix cache is its own: a prompt that was read with nothing drafted
    may lack the draft's part of the cache, and only the first round of a repeat would read prompts at all.
    """
    return order.request | {"cache_salt": f"{run}-{turn.number}"}


def prompts_of(turn: TuneRound, prompts: tuple[Prompt, ...]) -> tuple[Prompt, ...]:
    """The prompts of a round: the same ones in all rounds of a repeat, the next ones in the next repeat, and around."""
    count = max(_FEWEST_PROMPTS, _FOR_EACH * (turn.load.concurrency or 1))
    first = (turn.repeat - 1) * count % len(prompts)
    return tuple(islice(cycle(prompts), first, first + count))
