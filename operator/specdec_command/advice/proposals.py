"""What a method would be asked to do for one service: from what one would like to what the engine surely takes."""

from collections.abc import Iterator
from typing import Any, Final

from specdec_command.advice.catalogue import MethodAdvice, PodLoad
from specdec_command.advice.estimate import own_heads
from specdec_command.advice.published import PublishedUse, published
from specdec_command.advice.request import AdviceRequest
from specdec_engine.case import Case, Json, ModelFolderFacts
from specdec_engine.methods import MOST_TOKENS
from specdec_engine.pod_devices import asked_in_full
from specdec_engine.shape import number
from specdec_engine.version import Flavor, holds
from specdec_operator.engine.translate import translate
from specdec_operator.staging.layout import DRAFT_PATH, TARGET_PATH

_BY_LOAD: Final = frozenset(("eagle", "eagle3", "mtp", "dflash", "draft_model"))
_BY_LOAD_SINCE: Final = {Flavor.VLLM: "0.32", Flavor.VLLM_ASCEND: "0.24", Flavor.VLLM_CPU: "0.25"}
"""vLLM 0.25 to 0.31 takes tokensByBatchSize, but its second runner drafts all K all the same (vLLM PR 57053)."""
_SAMPLED: Final = frozenset(("eagle", "eagle3", "mtp", "draft_model"))
WARM: Final = 0.5
"""Temperature from which a draft that samples, as the target does, is accepted more."""
_QUIET: Final = 8
_BUSY: Final = 31


def proposals(request: AdviceRequest, advice: MethodAdvice) -> Iterator[Json]:
    """Ways to ask for the method, as spec.speculation, the most wanted first."""
    given = request.draft_for(advice.method)
    draft = _set(draft={"uri": given.uri}, parallelDrafting=given.kind.parallel or None) if given else {}
    for extras in _extras(request, advice):
        for tokens in _tokens(request, advice):
            yield _set(method=advice.method, tokens=tokens) | draft | extras | _by_load(request, advice, tokens)


def _set(**fields: Any) -> dict[str, Any]:
    """The fields that are given."""
    return {name: value for name, value in fields.items() if value is not None}


def case_of(request: AdviceRequest, speculation: Json | None) -> Case:
    """What the engine would be asked, for its rules."""
    translated = translate(spec_of(request, speculation), draft_path=DRAFT_PATH).case
    seen = request.draft.config if request.draft and speculation and "draft" in speculation else None
    return Case(
        build=translated.build,
        target=None if request.config is None else ModelFolderFacts(path=TARGET_PATH, config=request.config),
        draft=None if seen is None else ModelFolderFacts(path=DRAFT_PATH, config=seen),
        speculation=translated.speculation,
        args=translated.args,
        packages=request.packages,
        devices=translated.devices,
    )


def spec_of(request: AdviceRequest, speculation: Json | None) -> dict[str, Any]:
    """The spec of the service, without its guard."""
    engine = _set(accelerator=request.accelerator, version=request.version, image=request.image)
    if request.tensor_parallel > 1:
        engine["tensorParallelSize"] = request.tensor_parallel
    model = {"uri": request.uri or f"pvc://models/{request.name}"}
    devices = asked_in_full(request.tensor_parallel, request.build.flavor) or None
    return _set(model=model, speculation=dict(speculation) if speculation else None, engine=engine, resources=devices)


def _extras(request: AdviceRequest, advice: MethodAdvice) -> Iterator[dict[str, Any]]:
    """What may be left out where the engine does not take it, and what may not."""
    always: dict[str, Any] = {"ngram": {"lookupMin": 2, "lookupMax": 5}} if advice.method.startswith("ngram") else {}
    if request.temperature >= WARM and advice.method in _SAMPLED and request.accelerator != "ascend":
        yield always | {"draftSampling": "Probabilistic"}
    yield always


def _tokens(request: AdviceRequest, advice: MethodAdvice) -> Iterator[int | None]:
    """K to try, from the wanted one down; at last the draft's own block, which some versions insist on."""
    if advice.tokens is None:
        yield None
        return
    first = min(_wanted(request, advice), _trained(request, advice))
    yield from range(first, 0, -1)
    if advice.method == "dspark" and first < (block := _block(request)) <= MOST_TOKENS:
        yield block


def _wanted(request: AdviceRequest, advice: MethodAdvice) -> int:
    tokens = dict(advice.tokens or {})
    quiet = PodLoad.FEW if _guesses_by_load(request, advice) else request.load
    if quiet is PodLoad.FEW and (known := of_source(request, advice.method)) and known.tokens:
        return known.tokens
    heads = own_heads(request) if advice.method == "mtp" else 0
    if heads > 1:
        return heads if quiet is PodLoad.FEW else min(heads, 2)
    return tokens[quiet]


def of_source(request: AdviceRequest, method: str) -> PublishedUse | None:
    """How a source runs exactly this target with this method, and with the available draft or its own heads."""
    draft = request.draft.uri.removeprefix("hf://").partition(":")[0] if request.draft else ""
    return next((each for each in published(request.repository, method) if each.draft == draft), None)


def _trained(request: AdviceRequest, advice: MethodAdvice) -> int:
    """The most that the draft was trained for; the API's own limit where nothing is known of it."""
    if advice.method == "medusa":
        return number(request.draft_config, "num_heads", "medusa_num_heads") or MOST_TOKENS
    return _block(request) - 1 if advice.method == "dflash" and _block(request) > 1 else MOST_TOKENS


def _block(request: AdviceRequest) -> int:
    return number(request.draft_config or request.config or {}, "dspark_block_size", "block_size")


def _guesses_by_load(request: AdviceRequest, advice: MethodAdvice) -> bool:
    build = request.build
    heeded = holds(build.ascend or build.vllm, _BY_LOAD_SINCE[build.flavor])
    return request.load is PodLoad.MANY and advice.method in _BY_LOAD and heeded


def _by_load(request: AdviceRequest, advice: MethodAdvice, tokens: int | None) -> dict[str, Any]:
    """K by the number of running requests. One guess is left at the busiest, so that the guard still sees the draft."""
    if tokens is None or not _guesses_by_load(request, advice):
        return {}
    busy = min(tokens, (advice.tokens or {}).get(PodLoad.SOME, 1))
    rows = [{"upTo": _QUIET, "tokens": tokens}, {"upTo": _BUSY, "tokens": busy}, {"tokens": 1}]
    return {"tokensByBatchSize": rows}
