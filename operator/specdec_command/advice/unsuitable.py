"""When speculation is the wrong lever: what no choice of method would mend."""

from collections.abc import Iterator
from typing import Final

from specdec_command.advice.catalogue import MethodFact
from specdec_command.advice.families import architectures
from specdec_command.advice.request import AdviceRequest, Use
from specdec_engine.rules.features import generates_nothing
from specdec_engine.shape import count_all, read_shape
from specdec_engine.version import Version

_SMALL: Final = 1_000_000_000
_SHORT: Final = 8
_PREFILL: Final = 100


def unsuitable(request: AdviceRequest) -> tuple[MethodFact, ...]:
    """All reasons against speculation itself; empty if there are none."""
    return (*_no_generator(request), *_lengths(request), *_small_target(request), *_clients(request))


def _no_generator(request: AdviceRequest) -> Iterator[MethodFact]:
    config = request.config or {}
    names = architectures(config)
    if generates_nothing(names, config.get("model_type")):
        model = ", ".join(names) or config.get("model_type")
        yield MethodFact(f"{model} generates no text, so there are no tokens to guess", "its config.json")


def _lengths(request: AdviceRequest) -> Iterator[MethodFact]:
    prompt, answer = request.prompt_tokens, request.answer_tokens
    if answer is not None and answer <= _SHORT:
        yield MethodFact(
            f"answers of {answer} tokens are too short for speculation: use prefix caching to reduce the time to "
            "first token",
            "vLLM documentation",
        )
    if prompt and answer and prompt >= _PREFILL * answer:
        yield MethodFact(
            f"{prompt} prompt tokens for {answer} answer tokens: prefill takes most of the time, and speculation does "
            "not change it; use chunked prefill and prefix caching",
            "a prompt token costs about a hundredth of an answer's token while few requests run",
        )


def _small_target(request: AdviceRequest) -> Iterator[MethodFact]:
    shape = read_shape(request.config)
    if shape is None or request.accelerator == "cpu":
        return
    counted = count_all(shape)
    total = counted.linear + counted.experts + counted.embeddings
    if total < _SMALL:
        yield MethodFact(
            f"the target has about {total / 1e6:,.0f} million parameters: on an accelerator its steps are so short "
            "that guessing costs as much time as it saves",
            "Alauda AI user guide, Speculative Decoding: even 8B on one A30 gained little",
        )


def _clients(request: AdviceRequest) -> Iterator[MethodFact]:
    """What clients send, and what the server loads for them."""
    version = request.build.vllm
    lost = {Use.MIN_P, Use.LOGIT_BIAS} | ({Use.MIN_TOKENS} if Version(0, 14) <= version < Version(0, 16) else set())
    if used := sorted(request.uses & lost):
        what = "ignores them without an error" if version < Version(0, 14) else "answers them with HTTP 400"
        says = f"clients send {' and '.join(used)}: with speculation vLLM {version} {what}"
        yield MethodFact(says, "vLLM, v1/engine/processor.py")
    if Use.LOGITS_PROCESSORS in request.uses:
        yield MethodFact("the server loads custom logits processors, and does not start with both", "vLLM, v1/sample")
    if Use.STRUCTURED_OUTPUT in request.uses:
        yield MethodFact(
            "most answers follow a grammar: the engine discards guesses that the grammar forbids, without counting "
            "them",
            "measured with this project's tiny models: JSON schema 0.53, regular expression 0.74 of the baseline speed",
        )
