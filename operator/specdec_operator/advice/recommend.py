"""Which method, with which K, for one service; what to expect of it, and the sis that asks for it."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from specdec_operator import names
from specdec_operator.advice.candidates import Candidate, Standing, candidates
from specdec_operator.advice.facts import Fact, Load, Needs
from specdec_operator.advice.lever import objections
from specdec_operator.advice.methods import METHODS
from specdec_operator.advice.question import Question
from specdec_operator.advice.shared import HOT
from specdec_operator.advice.target import to_find
from specdec_operator.advice.wish import WARM, case_of, spec_of
from specdec_operator.engine.builds import build_of
from specdec_operator.engine.check import check
from specdec_operator.engine.rule import Severity
from specdec_operator.errors import Invalid

_BETTER: Final = 0.1
_ELSEWHERE: Final = MappingProxyType(
    {
        "ascend": "The figures are from GPUs. On NPUs users report acceptance that falls to nothing "
        "(vllm-ascend issues 9290, 9871, 10495, 12521): leave the guard on.",
        "cpu": "The figures are from GPUs; on processors this project has measured tiny models only.",
    }
)
_ALONE: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Recommendation:
    """The answer.

    choice: None recommends to serve plainly. objections: why speculation itself is the wrong lever, if it is.
    candidates: every method, best first. steps: what to do next. sis: what to apply, as in YAML.
    """

    headline: str
    engine: str
    choice: Candidate | None
    objections: tuple[Fact, ...]
    candidates: tuple[Candidate, ...]
    steps: tuple[str, ...]
    sis: Mapping[str, Any]


def recommend(question: Question) -> Recommendation:
    """The answer to a question. Raises Invalid for a version that is none, or that cannot serve the target at all."""
    _servable(question)
    against = objections(question)
    found = candidates(question)
    choice = next((each for each in found if each.standing is Standing.FITS), None) if not against else None
    return Recommendation(
        headline=_headline(question, choice, against),
        engine=str(build_of(question.accelerator, question.version)),
        choice=choice,
        objections=against,
        candidates=found,
        steps=tuple(_steps(question, choice, () if against else found)),
        sis=_sis(question, choice),
    )


def _servable(question: Question) -> None:
    case = case_of(question, None)
    for each in check(case):
        if each.rule.severity is Severity.REFUSED:
            raise Invalid("the target", str(case.build), each.message)


def _headline(question: Question, choice: Candidate | None, against: tuple[Fact, ...]) -> str:
    if against:
        return "Serve it plainly: speculation is the wrong lever here."
    requests = f"{question.concurrency} request{'s' if question.concurrency > 1 else ''} at once"
    if choice is None:
        lever = "speculation is the wrong lever" if question.load is Load.MANY else "nothing at hand is expected to pay"
        return f"Serve it plainly: with {requests} {lever}."
    count = "" if choice.tokens is None else f" with K {choice.tokens}"
    if choice.by_load:
        return (
            f"Use {choice.method}{count} while the service is quiet: {choice.speedup} times as fast with up to 8 "
            f"requests at once. With {requests} speculation is the wrong lever, so it guesses less the more run."
        )
    return f"Use {choice.method}{count}: expect {choice.speedup} times as fast with {requests}."


def _steps(question: Question, choice: Candidate | None, found: tuple[Candidate, ...]) -> list[str]:
    steps = [] if question.uri else ["Before you apply the sis, let spec.model.uri name the place of your target."]
    steps += [_to_get(each) for each in _better(question, choice, found)]
    if found and question.family is not None and question.family.note:
        steps.append(question.family.note)
    if choice is None:
        return steps
    if choice.method == "suffix" and question.image is None:
        steps.append("Name the image that holds arctic-inference in spec.engine.image (--image).")
    if question.temperature >= WARM and "draftSampling" not in choice.speculation:
        steps.append(HOT.says)
    if note := _ELSEWHERE.get(question.accelerator):
        steps.append(note)
    alarm = METHODS[choice.method].alarm
    steps.append(
        f"Measure with your own traffic: the bands are others' figures. The guard ends speculation below {alarm} "
        "accepted; more accepted is not yet faster."
    )
    return steps


def _better(question: Question, choice: Candidate | None, found: tuple[Candidate, ...]) -> list[Candidate]:
    """Methods that something is missing for and that would be clearly better, the best two."""
    mark = choice.speedup.cautious if choice is not None else 1.0
    missing = [each for each in found if each.standing is Standing.MISSING and _findable(question, each)]
    return [each for each in missing if each.speedup.cautious > mark + _BETTER][:2]


def _findable(question: Question, candidate: Candidate) -> bool:
    advice = METHODS[candidate.method]
    return advice.needs is Needs.NOTHING or bool(to_find(question, advice))


def _to_get(candidate: Candidate) -> str:
    what = "; ".join(each.says.rstrip(".") for each in candidate.reasons)
    return f"Better would be {candidate.method} ({candidate.speedup} times as fast): {what}."


def _sis(question: Question, choice: Candidate | None) -> dict[str, Any]:
    spec = spec_of(question, choice.speculation if choice else None)
    if choice is not None:
        spec["guard"] = _guard(question, choice)
    head = {"apiVersion": names.API_VERSION, "kind": names.KIND, "metadata": {"name": question.name}}
    return head | {"spec": spec}


def _guard(question: Question, choice: Candidate) -> dict[str, Any]:
    """Thresholds that find a broken draft; longer windows where little is said."""
    window = "5m" if question.concurrency <= _ALONE else "2m"
    guard: dict[str, Any] = {"mode": "Enforce", "window": window, "failureLimit": 3}
    if (alarm := METHODS[choice.method].alarm) is not None:
        guard["acceptanceRate"] = {"min": alarm}
    return guard
