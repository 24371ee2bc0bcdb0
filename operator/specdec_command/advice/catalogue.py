"""Every method of the API, for people. The engine's requirements of each are in its rules; this is what it is good for.

The texts are in data/methods.json. A fact there is a statement and its source, or the name of a shared one.
"""

import functools
import json
import pathlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Final

from specdec_engine.case import Json
from specdec_engine.tables import table
from specdec_engine.version import Build, Flavor, holds


class Workload(StrEnum):
    """What the requests are about. It decides how many of the next tokens are guessed right."""

    CHAT = "chat"
    """Open conversation: answers repeat little of the text before."""
    CODE = "code"
    """Writing and changing code: regular text, much of it copied."""
    AGENTIC = "agentic"
    """Loops that call tools: the same passages again and again, across requests too."""
    SUMMARISE = "summarise"
    """Summaries and answers from documents: the answer quotes the prompt."""


class PodLoad(StrEnum):
    """How many requests one pod answers at once, at its busy times."""

    FEW = "few"
    """1 to 8: the device waits for its memory, and checking a few more tokens is nearly free."""
    SOME = "some"
    """9 to 31: some of that spare time is used up."""
    MANY = "many"
    """32 and more: the device is busy, and every refused token takes time from other requests' tokens."""


class GuessSource(StrEnum):
    """Where the guesses come from."""

    NOTHING = "nothing"
    """It does not guess."""
    TEXT = "the text so far"
    """A look-up; no second model."""
    INSIDE = "inside the target"
    """Heads that the target's own checkpoint carries."""
    DRAFT = "a draft"
    """A checkpoint of its own, made for this target."""
    CODE = "your own code"
    """A Python class in the image."""


@dataclass(frozen=True, slots=True)
class MethodFact:
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
class EngineReleases:
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

    releases: the engines that run it; an engine that is not listed cannot.
    tokens: K to begin with, by load; None where the method or its draft decides.
    acceptance: accepted / drafted tokens of a draft that fits; None: nothing is meant to be accepted.
    speedup: baseline time per output token / that with speculation, with few requests at once. Empty: none is meant.
    alarm: acceptance below which something is wrong with the draft: the guard's threshold.
    example: a spec.speculation, as in YAML.
    """

    method: str
    meaning: str
    needs: GuessSource
    needed: tuple[MethodFact, ...]
    training: MethodFact | None = None
    checks: tuple[MethodFact, ...] = ()
    releases: tuple[EngineReleases, ...]
    tokens: Mapping[PodLoad, int] | None = None
    tokens_note: MethodFact
    acceptance: Band | None = None
    acceptance_note: MethodFact
    speedup: Mapping[Workload, Band] = field(default_factory=dict)
    speedup_notes: tuple[MethodFact, ...] = ()
    alarm: float | None = None
    memory: MethodFact
    caveats: tuple[MethodFact, ...]
    example: Mapping[str, Any] = field(default_factory=dict)


_DATA: Final = pathlib.Path(__file__).parent / "data"


@functools.cache
def data(name: str) -> Any:
    """A file of the data folder by its name without `.json`."""
    return json.loads((_DATA / f"{name}.json").read_text(encoding="utf-8"))


def shared(name: str) -> MethodFact:
    """A fact that several methods share."""
    return _fact(data("methods")["shared"][name])


def _fact(written: str | list[str]) -> MethodFact:
    if isinstance(written, str):
        return shared(written)
    says, source = written
    return MethodFact(says, data("methods")["sources"].get(source, source))


def _facts(written: Iterable[str | list[str]]) -> tuple[MethodFact, ...]:
    return tuple(map(_fact, written))


def _speedup(written: list[float] | Mapping[str, list[float]]) -> dict[Workload, Band]:
    """One band for every workload, or one for each."""
    by_workload = dict.fromkeys(Workload, written) if isinstance(written, list) else written
    return {Workload(workload): Band(*band) for workload, band in by_workload.items()}


def _releases(written: Iterable[Json]) -> tuple[EngineReleases, ...]:
    return tuple(EngineReleases(**{**each, "flavor": Flavor(each["flavor"])}) for each in written)


_READERS: Final[Mapping[str, Callable[[Any], object]]] = {
    "needs": GuessSource,
    "releases": _releases,
    "tokens": lambda written: {PodLoad(load): tokens for load, tokens in written.items()},
    "acceptance": lambda written: Band(*written),
    "speedup": _speedup,
    **dict.fromkeys(("training", "tokens_note", "acceptance_note", "memory"), _fact),
    **dict.fromkeys(("needed", "checks", "speedup_notes", "caveats"), _facts),
}
"""By the field of a method; what has none is taken as it is written."""


def _advice(method: str, row: Json) -> MethodAdvice:
    read: dict[str, Any] = {name: _READERS[name](row[name]) for name in row.keys() & _READERS.keys()}
    return MethodAdvice(method=method, **{**row, **read})


METHODS: Final[Mapping[str, MethodAdvice]] = MappingProxyType(
    {method: _advice(method, row) for method, row in data("methods")["methods"].items()}
)
"""By the word that the spec uses; those that one would try first come first."""
_MTP_WORDS: Final = sorted(word for word, row in table("methods")["methods"].items() if row.get("alias_of") == "mtp")
"""vLLM's old names of MTP, such as deepseek_mtp."""
_OTHER_WORDS: Final = {
    "p_eagle": "eagle3",
    "peagle": "eagle3",
    "eagle2": "eagle",
    "pard": "draft_model",
    "draft": "draft_model",
    "prompt_lookup": "ngram",
    "mlp": "mlp_speculator",
    **dict.fromkeys(_MTP_WORDS, "mtp"),
}
"""Common names that the spec does not take as a method, and the method of each."""
WORDS: Final = (*METHODS, *_OTHER_WORDS)
"""Everything that `named` understands."""


def named(word: str) -> MethodAdvice | None:
    """The method that a word means, if it means one."""
    plain = word.strip().lower().replace("-", "_")
    return METHODS.get(_OTHER_WORDS.get(plain, plain))


def release_for(advice: MethodAdvice, flavor: Flavor) -> EngineReleases | None:
    """Which releases of an engine run the method; None where none does."""
    return next((each for each in advice.releases if each.flavor is flavor), None)


def runs_on(advice: MethodAdvice, build: Build) -> bool:
    """Whether an engine runs the method."""
    release = release_for(advice, build.flavor)
    if release is None:
        return False
    return holds(build.ascend or build.vllm, release.since, release.until)
