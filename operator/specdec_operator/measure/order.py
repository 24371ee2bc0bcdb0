"""What the user asks to be measured, and what every request asks of the engine. Light to import."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from specdec_operator.measure.prompts import Prompt

SEED: Final = 0
WARM_UPS: Final = 3
"""Requests that each side answers before its first repeat at each concurrency, and that count for nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What the user asks to be measured. source: where the prompts come from; digest: tells them from others."""

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
    order: Order
    prompts: tuple[Prompt, ...]
    at: str
    room: float


def sampling(max_tokens: int) -> dict[str, Any]:
    """What every request asks for besides its prompt: greedy, one seed, and as long as the model itself goes on."""
    return {
        "max_tokens": max_tokens,
        "temperature": 0,
        "seed": SEED,
        "ignore_eos": False,
        "stream": True,
        "stream_options": {"include_usage": True},
    }


def request(model: str, prompt: Mapping[str, Any], max_tokens: int) -> dict[str, Any]:
    """The body of one request."""
    return {"model": model, **prompt, **sampling(max_tokens)}
