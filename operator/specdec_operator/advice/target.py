"""What a target brings along for speculation, and what has to be found for it."""

from typing import Final

from specdec_operator.advice.facts import Fact, MethodAdvice, Needs
from specdec_operator.advice.question import Question
from specdec_operator.engine.builds import build_of
from specdec_operator.engine.case import Model
from specdec_operator.engine.facts import facts
from specdec_operator.engine.families import as_drafter, drafts_itself
from specdec_operator.staging.layout import TARGET_PATH

_CARRIES_DSPARK: Final = ("deepseek-v4", "deepseek-v4.1")
_PACKAGE: Final = "arctic_inference"


def own_heads(question: Question) -> int:
    """Tokens that the target's own MTP heads guess; 0 where it has none."""
    read = facts(Model(path=TARGET_PATH, config=question.config))
    if read is None:
        return question.family.mtp_heads if question.family else 0
    version = build_of(question.accelerator, question.version).vllm
    if drafts_itself(read, version) is False:
        return 0
    return as_drafter(read, version).n_predict or 0


def unfit(question: Question, advice: MethodAdvice) -> Fact | None:
    """Why the method is none for this target, whatever one would find for it; None where it is one."""
    if advice.method != "mtp" or _given(question, advice) or own_heads(question):
        return None
    if question.family is not None and "mtp" in question.family.trained:
        return None
    if question.config is not None:
        return Fact("the target's config.json names no MTP heads", "vLLM, config/speculative.py")
    return Fact("this family is not known to have MTP heads", "vLLM, config/speculative.py")


def missing(question: Question, advice: MethodAdvice) -> tuple[Fact, ...]:
    """What the method needs and nobody has named; empty: everything is at hand."""
    if advice.method == "suffix" and _PACKAGE not in question.packages:
        return (Fact("the image needs the Python package arctic-inference", "vLLM, config/speculative.py"),)
    if _given(question, advice) or (advice.method == "mtp" and own_heads(question)) or _carried(question, advice):
        return ()
    return (advice.needed[0], *to_find(question, advice)) if advice.needs in (Needs.DRAFT, Needs.INSIDE) else ()


def to_find(question: Question, advice: MethodAdvice) -> tuple[Fact, ...]:
    """Drafts that are known for the family, or what to look for; empty where none is known of."""
    family, method = question.family, advice.method
    if family is None:
        return (Fact("look for one whose model card names this very target", "Hugging Face hub"),)
    named = tuple(
        Fact(f"{each.name} is one for {each.target}", f"https://huggingface.co/{each.name}")
        for each in family.known
        if each.method == method
    )
    if named or method not in family.trained:
        return named
    return (Fact(f"{method} drafts exist for {family.name}: their cards name the exact target", "Hugging Face hub"),)


def _given(question: Question, advice: MethodAdvice) -> bool:
    return question.draft is not None and question.draft.kind.method == advice.method


def _carried(question: Question, advice: MethodAdvice) -> bool:
    return advice.method == "dspark" and question.family is not None and question.family.name in _CARRIES_DSPARK
