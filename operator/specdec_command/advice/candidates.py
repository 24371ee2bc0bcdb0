"""Each method for one service: what it would be asked to do, what to expect of it, and what stands against it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final

from specdec_command.advice import estimate
from specdec_command.advice.catalogue import (
    METHODS,
    Band,
    GuessSource,
    MethodAdvice,
    MethodFact,
    PodLoad,
    release_for,
    runs_on,
)
from specdec_command.advice.estimate import UNDER_LOAD, WORTH, price, under
from specdec_command.advice.proposals import case_of, of_source, proposals
from specdec_command.advice.request import AdviceRequest
from specdec_engine.case import Json
from specdec_engine.check import check
from specdec_engine.rule import Finding, Severity, deployable


class MethodStanding(StrEnum):
    """What becomes of a method."""

    FITS = "fits"
    """It runs, everything is at hand, and it is expected to pay."""
    MISSING = "missing"
    """It would run if what it needs were available."""
    POOR = "poor"
    """It runs, and is not expected to pay."""
    REFUSED = "refused"
    """This engine, or this target, does not run it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One method for one service.

    speculation: as in spec.speculation; empty if it is refused or something is missing. price: memory that it takes, if
    the models' configs show it. warnings: findings of the engine's rules. speedup: expected at this load. by_load: it
    guesses less the more requests run, and speedup is that of quiet times.
    """

    method: str
    standing: MethodStanding
    speedup: Band
    acceptance: Band | None
    speculation: Mapping[str, Any]
    by_load: bool = False
    price: str = ""
    warnings: tuple[MethodFact, ...] = ()
    reasons: tuple[MethodFact, ...]

    @property
    def tokens(self) -> int | None:
        """K."""
        return self.speculation.get("tokens")


_REGISTRY: Final = "vLLM, config/speculative.py"


def candidates(request: AdviceRequest) -> tuple[Candidate, ...]:
    """Every method that is meant to speed something up, best first."""
    every = [_candidate(request, advice) for advice in METHODS.values() if advice.speedup]
    return tuple(sorted(every, key=lambda each: ([*MethodStanding].index(each.standing), -each.speedup.cautious)))


def _candidate(request: AdviceRequest, advice: MethodAdvice) -> Candidate:
    band = advice.speedup[request.workload]
    made = Candidate(
        method=advice.method,
        standing=MethodStanding.REFUSED,
        speedup=under(request.load, band),
        acceptance=advice.acceptance,
        speculation={},
        reasons=(),
    )
    if reason := _no_release(request, advice) or estimate.unfit(request, advice):
        return replace(made, reasons=(reason,))
    if missing := estimate.missing(request, advice):
        return replace(made, standing=MethodStanding.MISSING, reasons=missing)
    speculation, findings = _accepted(request, advice)
    if speculation is None:
        return replace(made, reasons=_facts(findings, Severity.REFUSED))
    taken = price(case_of(request, speculation))
    warned = _facts(findings, Severity.WARNED)
    return _judged(request, replace(made, speculation=speculation, price=taken, warnings=warned), band)


def _no_release(request: AdviceRequest, advice: MethodAdvice) -> MethodFact | None:
    if runs_on(advice, request.build):
        return None
    release = release_for(advice, request.build.flavor)
    return MethodFact(
        f"{request.build} does not run it" + (f"; {release} does" if release else ""), "vLLM and vllm-ascend releases"
    )


def _accepted(request: AdviceRequest, advice: MethodAdvice) -> tuple[Json | None, tuple[Finding, ...]]:
    """The first proposal that the engine's rules accept, None if none; and their findings on it, or on the last one."""
    findings: tuple[Finding, ...] = ()
    for speculation in proposals(request, advice):
        findings = check(case_of(request, speculation))
        if deployable(findings):
            return speculation, findings
    return None, findings


def _facts(findings: tuple[Finding, ...], severity: Severity) -> tuple[MethodFact, ...]:
    chosen = (each for each in findings if each.rule.severity is severity)
    return tuple(MethodFact(each.message, f"rule {each.rule.id}") for each in chosen)


def _judged(request: AdviceRequest, made: Candidate, few: Band) -> Candidate:
    """Whether it is expected to pay."""
    if "tokensByBatchSize" in made.speculation:
        return replace(
            made, standing=MethodStanding.FITS, speedup=few, by_load=True, reasons=(*_why(request, made), UNDER_LOAD)
        )
    if request.load is PodLoad.MANY:
        return replace(made, standing=MethodStanding.POOR, reasons=(UNDER_LOAD,))
    pays = made.speedup.cautious >= WORTH
    loaded = () if request.load is PodLoad.FEW else (UNDER_LOAD,)
    return replace(
        made, standing=MethodStanding.FITS if pays else MethodStanding.POOR, reasons=(*_why(request, made), *loaded)
    )


def _why(request: AdviceRequest, made: Candidate) -> Iterator[MethodFact]:
    """What the expectation rests on. Its K and what is known of that K come from the same source."""
    advice = METHODS[made.method]
    if advice.needs is GuessSource.INSIDE and "draft" not in made.speculation:
        read = "the target's config.json" if request.config is not None else f"by the name alone; {_REGISTRY}"
        yield MethodFact("its heads were trained with the target, so no second checkpoint is needed", read)
    known = of_source(request, made.method)
    if known is not None:
        yield known.fact
    if known is not None and known.gain:
        return
    yield from advice.speedup_notes
