"""What the user wants measured, what every request asks of the engine, and in which order. Light to import."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from specdec_command.measure.prompts import Prompt
from specdec_command.measure.requests import GREEDY, Sampling
from specdec_operator.errors import OperatorError

WARM_UPS: Final = 3
"""Requests that each side answers before its first repeat at each concurrency, and that count for nothing."""


class Unmeasurable(OperatorError):
    """The service or the cluster cannot be measured as it is. The message has the reason and the fix."""


class Unanswered(Unmeasurable):
    """One request was not answered as it should: its repeat is thrown away and done again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchmarkOrder:
    """What the user wants to measure. source: where the prompts come from; digest: identifies them.

    concurrencies, rates: requests at once, and requests that arrive per second; one comparison for each.
    """

    source: str
    prompts: int
    digest: str
    concurrencies: tuple[int, ...]
    repeats: int
    max_tokens: int
    in_place: bool
    rates: tuple[float, ...] = ()
    sampling: Sampling = GREEDY

    @property
    def request(self) -> dict[str, Any]:
        """The options of every request next to its prompt."""
        return self.sampling.options(self.max_tokens)

    @property
    def loads(self) -> tuple["Load", ...]:
        """All loads, in the order in which they are measured."""
        at_once = (Load(concurrency=each) for each in self.concurrencies)
        return (*at_once, *(Load(rate=each) for each in self.rates))


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """How requests come: always so many at once, or so many a second at random times. The other one is None."""

    concurrency: int | None = None
    rate: float | None = None

    @property
    def label(self) -> str:
        """As a row of a table has it."""
        return str(self.concurrency) if self.rate is None else f"{self.rate:g}/s"

    @property
    def words(self) -> str:
        """As a sentence has it."""
        if self.rate is not None:
            return f"{self.rate:g} requests a second"
        return "1 request at once" if self.concurrency == 1 else f"{self.concurrency} requests at once"


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


class Side(StrEnum):
    """Which of the two services is asked."""

    SPECULATING = "speculating"
    BASELINE = "plain"


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchmarkRound:
    """All prompts once, by one side. repeat: from 1."""

    load: Load
    repeat: int
    side: Side

    @property
    def first(self) -> bool:
        """Whether the side begins with this load, so that it is warmed up before."""
        return self.repeat == 1


def interleaved(loads: tuple[Load, ...], repeats: int) -> tuple[BenchmarkRound, ...]:
    """Both sides by turns, and which is first by turns as well: a noisy minute hits both, a drift favours neither."""
    sides = tuple(Side)
    return tuple(
        BenchmarkRound(load=load, repeat=repeat, side=side)
        for load in loads
        for repeat in range(1, repeats + 1)
        for side in (sides if repeat % 2 else sides[::-1])
    )


def one_side(side: Side, loads: tuple[Load, ...], repeats: int) -> tuple[BenchmarkRound, ...]:
    """One side alone, for a cluster that has no room for both at once."""
    return tuple(each for each in interleaved(loads, repeats) if each.side is side)
