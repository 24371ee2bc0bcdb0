"""When speculation is the wrong lever: what no choice of method would mend."""

from collections.abc import Callable
from typing import Final

from specdec_operator.advice.facts import Fact
from specdec_operator.advice.question import Question, Use
from specdec_operator.engine.builds import build_of
from specdec_operator.engine.memory.parameters import count_all
from specdec_operator.engine.memory.shape import read_shape
from specdec_operator.engine.version import Version

_NO_GENERATOR: Final = ("ForSequenceClassification", "ForTokenClassification", "RewardModel", "ForEmbedding")
_ENCODERS: Final = ("bert", "roberta", "xlm-roberta", "modernbert", "distilbert")
_SMALL: Final = 1_000_000_000
_SHORT: Final = 8
_PREFILL: Final = 100


def objections(question: Question) -> tuple[Fact, ...]:
    """Everything that speaks against speculation itself; empty: nothing does."""
    found = (doubt(question) for doubt in _DOUBTS)
    return tuple(each for each in found if each is not None)


def _no_generator(question: Question) -> Fact | None:
    config = question.config or {}
    architectures = config.get("architectures")
    names = [str(each) for each in architectures] if isinstance(architectures, list) else []
    encoder = config.get("model_type") in _ENCODERS
    if not encoder and not any(mark in name for name in names for mark in _NO_GENERATOR):
        return None
    return Fact(
        f"{', '.join(names) or config.get('model_type')} writes no text: there are no next tokens to guess",
        "its config.json",
    )


def _short_answers(question: Question) -> Fact | None:
    tokens = question.answer_tokens
    if tokens is None or tokens > _SHORT:
        return None
    return Fact(
        f"answers of {tokens} tokens end before a guess can pay: prefix caching shortens the way to the first token",
        "vLLM documentation",
    )


def _long_prompts(question: Question) -> Fact | None:
    prompt, answer = question.prompt_tokens, question.answer_tokens
    if not prompt or not answer or prompt < _PREFILL * answer:
        return None
    return Fact(
        f"{prompt} prompt tokens for {answer} of answer: most of the time goes into reading the prompt, which "
        "speculation does not touch; chunked prefill and prefix caching do",
        "a prompt token costs about a hundredth of an answer's token while few requests run",
    )


def _small_target(question: Question) -> Fact | None:
    shape = read_shape(question.config)
    if shape is None or question.accelerator == "cpu":
        return None
    counted = count_all(shape)
    total = counted.linear + counted.experts + counted.embeddings
    if total >= _SMALL:
        return None
    return Fact(
        f"the target has about {total / 1e6:,.0f} million parameters: on an accelerator its steps are so short that "
        "guessing costs as much as it saves",
        "Alauda AI user guide, Speculative Decoding: even 8B on one A30 left little to gain",
    )


def _sampling(question: Question) -> Fact | None:
    version = build_of(question.accelerator, question.version).vllm
    lost = {Use.MIN_P, Use.LOGIT_BIAS} | ({Use.MIN_TOKENS} if Version(0, 14) <= version < Version(0, 16) else set())
    asked = sorted(question.uses & lost)
    if not asked:
        return None
    what = "ignores them without a word" if version < Version(0, 14) else "answers them with HTTP 400"
    return Fact(
        f"clients send {' and '.join(asked)}: with speculation vLLM {version} {what}", "vLLM, v1/engine/processor.py"
    )


def _processors(question: Question) -> Fact | None:
    if Use.LOGITS_PROCESSORS not in question.uses:
        return None
    return Fact("the server loads logits processors of its own, and does not start with both", "vLLM, v1/sample")


def _structured(question: Question) -> Fact | None:
    if Use.STRUCTURED_OUTPUT not in question.uses:
        return None
    return Fact(
        "most answers follow a grammar: guesses that it forbids are wasted without being counted",
        "measured with this project's tiny models: JSON schema 0.53, regular expression 0.74 of the plain speed",
    )


_DOUBTS: Final[tuple[Callable[[Question], Fact | None], ...]] = (
    _no_generator,
    _short_answers,
    _long_prompts,
    _small_target,
    _sampling,
    _processors,
    _structured,
)
