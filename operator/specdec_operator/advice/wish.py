"""What a method would be asked to do for one service: from what one would like to what the engine surely takes."""

from collections.abc import Iterator
from typing import Any, Final

from specdec_operator.advice.facts import Load, MethodAdvice
from specdec_operator.advice.question import Question
from specdec_operator.advice.target import own_heads
from specdec_operator.engine.asked import ask
from specdec_operator.engine.builds import build_of
from specdec_operator.engine.case import Case, Json, Model
from specdec_operator.engine.memory.shape import number
from specdec_operator.engine.version import Flavor, holds
from specdec_operator.staging.layout import DRAFT_PATH, TARGET_PATH

_BY_LOAD: Final = frozenset(("eagle", "eagle3", "mtp", "dflash", "draft_model"))
_BY_LOAD_SINCE: Final = {Flavor.VLLM: "0.32", Flavor.VLLM_ASCEND: "0.24", Flavor.VLLM_CPU: "0.25"}
"""vLLM 0.25 to 0.31 takes tokensByBatchSize, but its second runner drafts all K all the same (vLLM PR 57053)."""
_SAMPLED: Final = frozenset(("eagle", "eagle3", "mtp", "draft_model"))
WARM: Final = 0.5
"""Temperature from which a draft that samples, as the target does, is accepted more."""
_MOST: Final = 128
_QUIET: Final = 8
_BUSY: Final = 31


def wishes(question: Question, advice: MethodAdvice) -> Iterator[Json]:
    """Ways to ask for the method, as spec.speculation, the most wanted first."""
    draft = _draft(question, advice)
    for extras in _extras(question, advice):
        for tokens in _tokens(question, advice):
            named: dict[str, Any] = {"method": advice.method} | ({} if tokens is None else {"tokens": tokens})
            yield named | draft | extras | _by_load(question, advice, tokens)


def case_of(question: Question, speculation: Json | None) -> Case:
    """What the engine would be asked, for its rules."""
    asked = ask(spec_of(question, speculation), draft_path=DRAFT_PATH).case
    seen = question.draft.config if question.draft and speculation and "draft" in speculation else None
    return Case(
        build=asked.build,
        target=None if question.config is None else Model(path=TARGET_PATH, config=question.config),
        draft=None if seen is None else Model(path=DRAFT_PATH, config=seen),
        speculation=asked.speculation,
        args=asked.args,
        packages=question.packages,
    )


def spec_of(question: Question, speculation: Json | None) -> dict[str, Any]:
    """The spec of the sis, but for its guard."""
    engine: dict[str, Any] = {"accelerator": question.accelerator}
    if question.version is not None:
        engine["version"] = question.version
    if question.image is not None:
        engine["image"] = question.image
    if question.tensor_parallel > 1:
        engine["tensorParallelSize"] = question.tensor_parallel
    uri = question.uri or f"pvc://models/{question.name}"
    model = {"uri": uri} | ({"path": question.path} if question.path else {})
    return {"model": model} | ({"speculation": dict(speculation)} if speculation else {}) | {"engine": engine}


def _draft(question: Question, advice: MethodAdvice) -> dict[str, Any]:
    found = question.draft
    if found is None or found.kind.method != advice.method:
        return {}
    draft = {"uri": found.uri} | ({"path": found.path} if found.path else {})
    return {"draft": draft} | ({"parallelDrafting": True} if found.kind.parallel else {})


def _extras(question: Question, advice: MethodAdvice) -> Iterator[dict[str, Any]]:
    """What may be left out where the engine does not take it, and what may not."""
    always: dict[str, Any] = {"ngram": {"lookupMin": 2, "lookupMax": 5}} if advice.method.startswith("ngram") else {}
    if question.temperature >= WARM and advice.method in _SAMPLED and question.accelerator != "ascend":
        yield always | {"draftSampling": "Probabilistic"}
    yield always


def _tokens(question: Question, advice: MethodAdvice) -> Iterator[int | None]:
    """K to try, from the wanted one down; at last the draft's own block, which some versions insist on."""
    if advice.tokens is None:
        yield None
        return
    first = min(_wanted(question, advice), _trained(question, advice))
    yield from range(first, 0, -1)
    if advice.method == "dspark" and first < (block := _block(question)) <= _MOST:
        yield block


def _wanted(question: Question, advice: MethodAdvice) -> int:
    tokens = dict(advice.tokens or {})
    quiet = Load.FEW if _guesses_by_load(question, advice) else question.load
    heads = own_heads(question) if advice.method == "mtp" else 0
    if heads > 1:
        return heads if quiet is Load.FEW else min(heads, 2)
    return tokens[quiet]


def _trained(question: Question, advice: MethodAdvice) -> int:
    """The most that the draft was trained for; the API's own limit where nothing is known of it."""
    config = (question.draft.config if question.draft else None) or {}
    if advice.method == "medusa":
        return number(config, "num_heads", "medusa_num_heads") or _MOST
    return _block(question) - 1 if advice.method == "dflash" and _block(question) > 1 else _MOST


def _block(question: Question) -> int:
    config = (question.draft.config if question.draft else None) or question.config or {}
    return number(config, "dspark_block_size", "block_size")


def _guesses_by_load(question: Question, advice: MethodAdvice) -> bool:
    build = build_of(question.accelerator, question.version)
    since = _BY_LOAD_SINCE[build.flavor]
    return question.load is Load.MANY and advice.method in _BY_LOAD and holds(build.ascend or build.vllm, since)


def _by_load(question: Question, advice: MethodAdvice, tokens: int | None) -> dict[str, Any]:
    """K by the number of running requests. One guess is left at the busiest, so that the guard still sees the draft."""
    if tokens is None or not _guesses_by_load(question, advice):
        return {}
    busy = min(tokens, (advice.tokens or {}).get(Load.SOME, 1))
    rows = [{"upTo": _QUIET, "tokens": tokens}, {"upTo": _BUSY, "tokens": busy}, {"tokens": 1}]
    return {"tokensByBatchSize": rows}
