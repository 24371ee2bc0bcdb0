"""The shapes of what is known about a method."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from specdec_operator.engine.version import Flavor


class Workload(StrEnum):
    """What the requests are about, which decides how easily the next tokens are guessed."""

    CHAT = "chat"
    """Open conversation: answers repeat little of what was said."""
    CODE = "code"
    """Writing and changing code: regular text, much of it copied."""
    AGENTIC = "agentic"
    """Loops that call tools: the same passages again and again, across requests too."""
    SUMMARISE = "summarise"
    """Summaries and answers from documents: the answer quotes the prompt."""


class Load(StrEnum):
    """How many requests one pod answers at once, at its busy times."""

    FEW = "few"
    """1 to 8: the device waits for its memory, and checking a few more tokens is nearly free."""
    SOME = "some"
    """9 to 31: some of that spare time is used up."""
    MANY = "many"
    """32 and more: the device is busy, and every refused token takes time from somebody else's."""


class Needs(StrEnum):
    """Where the guesses come from."""

    NOTHING = "nothing"
    """The text so far; no second model."""
    INSIDE = "inside the target"
    """Heads that the target's own checkpoint carries."""
    DRAFT = "a draft"
    """A checkpoint of its own, made for this target."""
    CODE = "your own code"
    """A Python class in the image."""


@dataclass(frozen=True, slots=True)
class Fact:
    """One sentence, and where it comes from."""

    says: str
    source: str


@dataclass(frozen=True, slots=True)
class Band:
    """From the worse end to the better one."""

    low: float
    high: float

    @property
    def cautious(self) -> float:
        """One number to compare by. It leans to the worse end: a slower service is noticed, a faster one taken."""
        return (2 * self.low + self.high) / 3

    def __str__(self) -> str:
        return f"{self.low:.2f} to {self.high:.2f}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """Which releases of an engine can run the method, by that engine's own version. until: inclusive; empty: still."""

    flavor: Flavor
    since: str
    until: str = ""
    note: str = ""

    def __str__(self) -> str:
        span = f"{self.since} to {self.until}" if self.until else f"from {self.since}"
        return f"{self.flavor} {span}" + (f" ({self.note})" if self.note else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodAdvice:
    """One method, for people.

    releases: the engines that run it; an engine that is not there cannot.
    tokens: K to begin with, by load; None where the method or its draft decides.
    acceptance: accepted / drafted tokens of a draft that fits; None: nothing is meant to be accepted.
    speedup: plain time per output token / that with speculation, with few requests at once. Empty: none is meant.
    alarm: acceptance below which something is wrong with the draft: the guard's threshold.
    example: a spec.speculation, as in YAML.
    """

    method: str
    meaning: str
    needs: Needs
    needed: tuple[Fact, ...]
    training: Fact | None = None
    checks: tuple[Fact, ...] = ()
    releases: tuple[Release, ...]
    tokens: Mapping[Load, int] | None = None
    tokens_note: Fact
    acceptance: Band | None = None
    acceptance_note: Fact
    speedup: Mapping[Workload, Band]
    speedup_notes: tuple[Fact, ...]
    alarm: float | None
    memory: Fact
    caveats: tuple[Fact, ...]
    example: Mapping[str, Any]
