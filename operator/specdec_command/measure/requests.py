"""What every request asks of the engine next to its prompt, and when requests arrive: at random, by a seed."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Final

SEED: Final = 0
_GENERATION_CONFIG: Final = ("--generation-config", "--generation_config")
_OVERRIDE: Final = ("--override-generation-config", "--override_generation_config")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """How tokens are chosen. greedy: the most probable one, always. Others are sampled.

    temperature, top_p: None leaves them to the engine, which has defaults of the model.
    """

    greedy: bool = True
    temperature: float | None = None
    top_p: float | None = None

    def options(self, max_tokens: int) -> dict[str, Any]:
        """The options of a request. An answer is as long as the model itself goes on.

        Sampled requests have no seed: a seed for each request is slower in the engine than production is.
        """
        given = {"temperature": self.temperature, "top_p": self.top_p}
        chosen = {name: value for name, value in given.items() if value is not None}
        return {
            "max_tokens": max_tokens,
            **({"temperature": 0, "seed": SEED} if self.greedy else chosen),
            "ignore_eos": False,
            "stream": True,
            "stream_options": {"include_usage": True},
        }


GREEDY: Final = Sampling()


def sampling_used(sampling: Sampling, command: Sequence[str]) -> str:
    """What decides how tokens are chosen, in a sentence. command: of the engine."""
    if sampling.greedy:
        return f"Greedy (temperature 0), with seed {SEED}."
    given = {"temperature": sampling.temperature, "top_p": sampling.top_p}
    sent = [f"{name} {value:g}" for name, value in given.items() if value is not None]
    left = [name for name, value in given.items() if value is None]
    parts = [f"{' and '.join(sent)} as given"] if sent else []
    if left:
        parts.append(f"{' and '.join(left)} by the engine's default: {_defaults(command)}")
    return f"Sampled, without a seed: {'; '.join(parts)}."


def _defaults(command: Sequence[str]) -> str:
    source = _value(command, _GENERATION_CONFIG) or "auto"
    override = _value(command, _OVERRIDE)
    match source:
        case "auto":
            text = "that of the model's generation_config.json, or 1 if the file does not set it"
        case "vllm":
            text = "1 (--generation-config vllm: the model's file is not used)"
        case folder:
            text = f"that of generation_config.json in {folder}, or 1 if the file does not set it"
    return f"{text}; {override} of --override-generation-config comes before it" if override else text


def _value(command: Sequence[str], names: Sequence[str]) -> str:
    """The value of a flag, behind it or after an equals sign; empty if it is not there."""
    for index, word in enumerate(command):
        name, _, value = word.partition("=")
        if name in names:
            return value or next(iter(command[index + 1 :]), "")
    return ""


def arrivals(count: int, rate: float, seed: int) -> tuple[float, ...]:
    """When each request is sent, in seconds: a Poisson process of so many requests a second, the same for one seed."""
    chance = random.Random(seed)  # noqa: S311 - traffic, not a secret
    return tuple(accumulate(chance.expovariate(rate) for _ in range(count)))
