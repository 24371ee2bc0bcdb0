"""Which method, with which K, for one service; what to expect of it, and the service's manifest that asks for it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from types import MappingProxyType
from typing import Any, Final

from specdec_command.advice.candidates import Candidate, MethodStanding, candidates
from specdec_command.advice.catalogue import METHODS, GuessSource, MethodFact, shared
from specdec_command.advice.estimate import to_find
from specdec_command.advice.proposals import WARM, case_of, spec_of
from specdec_command.advice.request import AdviceRequest
from specdec_command.advice.unsuitable import unsuitable
from specdec_engine.check import check
from specdec_engine.rule import Severity
from specdec_operator import names
from specdec_operator.errors import Invalid

_BETTER: Final = 0.1
_ELSEWHERE: Final = MappingProxyType(
    {
        "ascend": "The figures are from GPUs. On NPUs users report acceptance that falls to zero (vllm-ascend issues "
        "9290, 9871, 10495, 12521): keep the guard enabled.",
        "cpu": "The figures are from GPUs; on CPUs this project measured only tiny models.",
    }
)
_ALONE: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Recommendation:
    """The answer.

    choice: None recommends to serve plainly. objections: why speculation itself is the wrong lever, if it is.
    candidates: every method, best first. steps: what to do next. sis: the manifest to apply, as in YAML.
    """

    headline: str
    engine: str
    choice: Candidate | None
    objections: tuple[MethodFact, ...]
    candidates: tuple[Candidate, ...]
    steps: tuple[str, ...]
    sis: Mapping[str, Any]


def recommend(request: AdviceRequest) -> Recommendation:
    """The answer to a request. Raises Invalid for a version that does not exist or cannot serve the target."""
    _servable(request)
    against = unsuitable(request)
    methods = candidates(request)
    choice = next((each for each in methods if each.standing is MethodStanding.FITS), None) if not against else None
    return Recommendation(
        headline=_headline(request, choice, against, _better(request, choice, methods)),
        engine=str(request.build),
        choice=choice,
        objections=against,
        candidates=methods,
        steps=tuple(_steps(request, choice, () if against else methods)),
        sis=_service(request, choice),
    )


def _servable(request: AdviceRequest) -> None:
    case = case_of(request, None)
    for each in check(case):
        if each.rule.severity is Severity.REFUSED:
            raise Invalid("the target", str(case.build), each.message)


def _headline(
    request: AdviceRequest, choice: Candidate | None, against: tuple[MethodFact, ...], better: Sequence[Candidate]
) -> str:
    if against:
        return "Recommendation: no speculation. The reasons are below."
    requests = f"{request.concurrency} request{'s' if request.concurrency > 1 else ''} at once"
    if choice is None and better:
        first = f"{better[0].method} ({better[0].speedup} times as fast)"
        return f"Recommendation: no speculation with {requests}, or a draft (--draft): the best would be {first}."
    if choice is None:
        return f"Recommendation: no speculation. With {requests}, no method is expected to be faster."
    count = "" if choice.tokens is None else f" with K {choice.tokens}"
    if choice.by_load:
        return (
            f"Use {choice.method}{count} at low load: {choice.speedup} times as fast with up to 8 requests at once. "
            f"With {requests} it is slower, so K falls as more requests run."
        )
    return f"Use {choice.method}{count}: expect {choice.speedup} times as fast with {requests}."


def _steps(request: AdviceRequest, choice: Candidate | None, methods: tuple[Candidate, ...]) -> list[str]:
    steps = [] if request.uri else ["Before you apply the manifest, set spec.model.uri to the location of your target."]
    for each in _better(request, choice, methods):
        what = "; ".join(f"{reason.says.rstrip('.')} [{reason.source}]" for reason in each.reasons)
        steps.append(f"{each.method} would be better ({each.speedup} times as fast): {what}.")
        if "hf://" in what:
            steps.append("The page of a draft has its licence. To use one: --draft URI --draft-kind METHOD.")
    if methods and request.family is not None and request.family.note:
        steps.append(request.family.note)
    if choice is None:
        return steps
    if choice.method == "suffix" and request.image is None:
        steps.append("Name the image that holds arctic-inference in spec.engine.image (--image).")
    if request.temperature >= WARM and "draftSampling" not in choice.speculation:
        steps.append(shared("HOT").says)
    if note := _ELSEWHERE.get(request.accelerator):
        steps.append(note)
    alarm = METHODS[choice.method].alarm
    steps.append(
        "Measure with your own traffic: the ranges are published figures of other setups. The guard ends speculation "
        f"if acceptance is below {alarm}. Acceptance above it does not prove a speedup."
    )
    return steps


def _better(request: AdviceRequest, choice: Candidate | None, methods: tuple[Candidate, ...]) -> list[Candidate]:
    """Methods that something is missing for and that would be clearly better, the best two."""
    mark = choice.speedup.cautious if choice is not None else 1.0
    missing = [each for each in methods if each.standing is MethodStanding.MISSING]
    better = ((each, METHODS[each.method]) for each in missing if each.speedup.cautious > mark + _BETTER)
    return [each for each, advice in better if advice.needs is GuessSource.TEXT or to_find(request, advice)][:2]


def _service(request: AdviceRequest, choice: Candidate | None) -> dict[str, Any]:
    spec = spec_of(request, choice.speculation if choice else None)
    if choice is not None:  # longer windows for few requests, and a threshold that finds a broken draft
        window = "5m" if request.concurrency <= _ALONE else "2m"
        spec["guard"] = {"mode": "Enforce", "window": window, "failureLimit": 3}
        if (alarm := METHODS[choice.method].alarm) is not None:
            spec["guard"]["acceptanceRate"] = {"min": alarm}
    head = {"apiVersion": names.API_VERSION, "kind": names.KIND, "metadata": {"name": request.name}}
    return head | {"spec": spec}


def plain(value: object) -> Any:
    """Dataclasses and mappings become dictionaries, tuples lists, enums their values; the rest stays as it is."""
    if is_dataclass(value) and not isinstance(value, type):
        return {each.name: plain(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, Mapping):
        return {plain(key): plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    return value.value if isinstance(value, Enum) else value
