"""What the user wants measured, what every request asks of the engine, and in which order. Light to import."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from specdec_command.measure.prompts import Prompt
from specdec_operator.errors import OperatorError

SEED: Final = 0
WARM_UPS: Final = 3
"""Requests that each side answers before its first repeat at each concurrency, and that count for nothing."""


class Unmeasurable(OperatorError):
    """The service or the cluster cannot be measured as it is. The message has the reason and the fix."""


class Unanswered(Unmeasurable):
    """One request was not answered as it should: its repeat is thrown away and done again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchmarkOrder:
    """What the user wants to measure. source: where the prompts come from; digest: identifies them."""

    source: str
    prompts: int
    digest: str
    concurrencies: tuple[int, ...]
    repeats: int
    max_tokens: int
    in_place: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """An order and where it is carried out. namespace: None is the kubeconfig's. at: now, for the report.

    room: longest time in seconds that the twin may wait for a node that has room.
    """

    namespace: str | None
    name: str
    order: BenchmarkOrder
    prompts: tuple[Prompt, ...]
    at: str
    room: float


def sampling(max_tokens: int) -> dict[str, Any]:
    """The options of every request next to its prompt: greedy, one seed, and as long as the model itself goes on."""
    return {
        "max_tokens": max_tokens,
        "temperature": 0,
        "seed": SEED,
        "ignore_eos": False,
        "stream": True,
        "stream_options": {"include_usage": True},
    }


class Side(StrEnum):
    """Which of the two services is asked."""

    SPECULATING = "speculating"
    BASELINE = "plain"


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchmarkRound:
    """All prompts once, by one side. concurrency: requests at once. repeat: from 1."""

    concurrency: int
    repeat: int
    side: Side

    @property
    def first(self) -> bool:
        """Whether the side begins with this number of requests at once, so that it is warmed up before."""
        return self.repeat == 1


def interleaved(concurrencies: tuple[int, ...], repeats: int) -> tuple[BenchmarkRound, ...]:
    """Both sides by turns, and which is first by turns as well: a noisy minute hits both, a drift favours neither."""
    sides = tuple(Side)
    return tuple(
        BenchmarkRound(concurrency=concurrency, repeat=repeat, side=side)
        for concurrency in concurrencies
        for repeat in range(1, repeats + 1)
        for side in (sides if repeat % 2 else sides[::-1])
    )


def one_side(side: Side, concurrencies: tuple[int, ...], repeats: int) -> tuple[BenchmarkRound, ...]:
    """One side alone, for a cluster that has no room for both at once."""
    return tuple(each for each in interleaved(concurrencies, repeats) if each.side is side)
