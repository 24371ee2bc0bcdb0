"""What `specdec check` reads from a server, as frozen values, and how its metrics page becomes counters by engine."""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

from specdec_operator.display.untrusted import Untrusted
from specdec_operator.guard.cache_use import CacheReading
from specdec_operator.guard.counters import Counters, Sample, counters_of, restarted, samples_of
from specdec_operator.guard.kv_cache import read_kv_cache
from specdec_operator.guard.window import Evidence, Window, by_pod, pooled

_OF_VLLM: Final = "vllm:"
_OF_OLD_ENGINES: Final = "vllm:spec_decode_draft_acceptance_rate"
"""A gauge of vLLM's first engine, which ended with 0.10: its counters of speculation are others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedModel:
    """A model of /v1/models. longest: its maximum length in tokens; None if unknown."""

    name: str
    longest: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GeneratedAnswer:
    """One generated answer. seconds: from sending the request to the end of its answer."""

    model: str
    tokens: int
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineReading:
    """One read of /metrics. at: seconds since the first. engines: counters by model and data-parallel rank."""

    at: float
    engines: Mapping[str, Counters]


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """A path that did not answer as vLLM does: what happened, and what to do. status: HTTP's; 0 without an answer."""

    path: str
    what: str
    fix: str
    status: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One server over one window. version: empty if unknown. answer: None if none was requested or it failed.

    troubles: one for each path that did not answer as it should, the first time.
    """

    url: str
    version: str = ""
    models: tuple[ServedModel, ...] = ()
    readings: tuple[EngineReading, ...] = ()
    answer: GeneratedAnswer | None = None
    troubles: tuple[Trouble, ...] = ()

    @property
    def silent(self) -> bool:
        """Whether nothing at all was learnt."""
        return not (self.version or self.models or self.readings or self.answer)

    @property
    def starts(self) -> tuple[float, ...]:
        """When the process began, by each reading, in epoch seconds."""
        engines = (next(iter(reading.engines.values())) for reading in self.readings)
        return tuple(each.started for each in engines if each.started is not None)

    @property
    def several(self) -> bool:
        """Whether several processes answer at this address by turns: a start time that was seen comes back."""
        changes = [this for this, following in pairwise(self.starts) if this != following]
        return len(changes) >= 2 and len(set(self.starts)) <= len(changes)

    @property
    def evidence(self) -> Evidence | None:
        """What the counters of all engines did between the first and the last reading; None for fewer than two."""
        parts = self.by_engine
        return pooled(parts, seconds=self.readings[-1].at, unread=0) if parts else None

    @property
    def by_engine(self) -> dict[str, Evidence]:
        """The same of each engine."""
        if len(self.readings) < 2:
            return {}
        window = Window(0.0)
        for each in self.readings:
            window = window.with_readings(each.engines, each.at)
        return by_pod(window.closed(), self.readings[-1].at)

    @property
    def last(self) -> Mapping[str, Counters]:
        """The newest counters by engine; empty if there are none."""
        return self.readings[-1].engines if self.readings else {}

    @property
    def cache_readings(self) -> tuple[CacheReading, ...]:
        """What was drafted between two readings, with the mean of the share of the KV cache that was in use."""
        pairs = (
            (before.engines[name], after)
            for before, reading in pairwise(self.readings)
            for name, after in reading.engines.items()
            if name in before.engines
        )
        return tuple(each for pair in pairs if (each := _cache_reading(*pair)) is not None)


def _cache_reading(before: Counters, after: Counters) -> CacheReading | None:
    used = [each.kv_cache.used for each in (before, after) if each.kv_cache and each.kv_cache.used is not None]
    if len(used) < 2 or restarted(before, after):
        return None
    return CacheReading(
        used=sum(used) / 2,
        drafts=after.drafts - before.drafts,
        draft_tokens=after.draft_tokens - before.draft_tokens,
        accepted_tokens=after.accepted_tokens - before.accepted_tokens,
    )


def read_engines(page: str) -> dict[str, Counters]:
    """The counters of each engine on a page, as `model` or, of several ranks, `model, rank 0`.

    Raises ValueError for what is not a metrics page of vLLM.
    """
    _refuse_others(page)
    by_engine: defaultdict[tuple[str, str], list[Sample]] = defaultdict(list)
    shared: list[Sample] = []
    for sample in samples_of(page):
        labels = sample[1]
        if "model_name" in labels or "engine" in labels:
            by_engine[labels.get("model_name", ""), labels.get("engine", "0")].append(sample)
        else:
            shared.append(sample)
    cache, several = read_kv_cache(page), len({model for model, _ in by_engine}) < len(by_engine)
    every: dict[tuple[str, str], list[Sample]] = {**by_engine} or {("", "0"): []}
    return {
        _named(*key, with_rank=several): replace(counters_of([*samples, *shared]), kv_cache=cache)
        for key, samples in sorted(every.items())
    }


def _named(model: str, rank: str, *, with_rank: bool) -> str:
    name = Untrusted(model).text or "the engine"
    return f"{name}, rank {Untrusted(rank).text}" if with_rank else name


def _refuse_others(page: str) -> None:
    begin = page.lstrip()[:100].lower()
    if begin.startswith(("<!doctype", "<html", "<?xml")):
        raise ValueError("it is an HTML page, so a proxy, a login or another program answers here")
    if begin.startswith("{"):
        raise ValueError("it is JSON, so another program answers here")
    if _OF_VLLM not in page:
        raise ValueError(f"it has no line of vLLM ({_OF_VLLM}...), so it is the page of another program")
    if _OF_OLD_ENGINES in page:
        raise ValueError("it has the counters of vLLM's first engine, which ended with vLLM 0.10: use a newer vLLM")


def read_models(body: bytes) -> tuple[ServedModel, ...]:
    """The models of /v1/models. Raises ValueError for another answer."""
    items = Untrusted(_json(body)).of("data").items
    found = (ServedModel(name=each.of("id").text, longest=each.of("max_model_len").whole) for each in items)
    models = tuple(each for each in found if each.name)
    if not models:
        raise ValueError("the answer has no list of models as the OpenAI API has it")
    return models


def read_version(body: bytes) -> str:
    """The version of /version. Raises ValueError for another answer."""
    version = Untrusted(_json(body)).of("version").text
    if not version:
        raise ValueError("the answer has no version")
    return version


def read_answer(body: bytes, model: str, seconds: float) -> GeneratedAnswer:
    """A generated answer. Raises ValueError for one without a choice or without tokens."""
    answer = Untrusted(_json(body))
    tokens = answer.of("usage", "completion_tokens").whole or 0
    if not answer.of("choices").items or tokens < 1:
        raise ValueError("the answer has no generated tokens")
    return GeneratedAnswer(model=model, tokens=tokens, seconds=seconds)


def _json(body: bytes) -> object:
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as error:
        raise ValueError("the answer is not JSON, so another program answers here") from error


def mean_by(values: Sequence[float | None]) -> float | None:
    """The mean of what is known; None if nothing is."""
    known = [each for each in values if each is not None]
    return sum(known) / len(known) if known else None
