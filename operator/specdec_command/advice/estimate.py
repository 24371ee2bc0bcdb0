"""What a method needs that the target does not bring, what a draft takes of the device's memory, and what is left of
the method's speed-up when more requests run at once.
"""

from typing import Final

from specdec_command.advice.catalogue import Band, GuessSource, MethodAdvice, MethodFact, PodLoad
from specdec_command.advice.families import TargetFamily, family_named
from specdec_command.advice.published import PUBLISHED, PublishedUse, published
from specdec_command.advice.request import AdviceRequest
from specdec_engine.case import Case, ModelFolderFacts
from specdec_engine.memory.inputs import inputs_of
from specdec_engine.model_config import as_drafter, drafts_itself, model_config
from specdec_operator.staging.layout import TARGET_PATH

_CARRIES_DSPARK: Final = ("deepseek-v4", "deepseek-v4.1")
_PACKAGE: Final = "arctic_inference"


def own_heads(request: AdviceRequest) -> int:
    """Tokens that the target's own MTP heads guess; 0 where it has none."""
    read = model_config(ModelFolderFacts(path=TARGET_PATH, config=request.config))
    if read is None:
        return request.family.mtp_heads if request.family else 0
    version = request.build.vllm
    if drafts_itself(read, version) is False:
        return 0
    return as_drafter(read, version).n_predict or 0


def unfit(request: AdviceRequest, advice: MethodAdvice) -> MethodFact | None:
    """Why the method cannot serve this target, even with a draft; None if it can."""
    if advice.method != "mtp" or request.draft_for("mtp") or own_heads(request):
        return None
    if request.family is not None and "mtp" in request.family.trained:
        return None
    known = "the target's config.json names no" if request.config is not None else "this family is not known to have"
    return MethodFact(f"{known} MTP heads", "vLLM, config/speculative.py")


def missing(request: AdviceRequest, advice: MethodAdvice) -> tuple[MethodFact, ...]:
    """What the method needs and the request does not name; empty if nothing is missing."""
    if advice.method == "suffix" and _PACKAGE not in request.packages:
        return (MethodFact("the image needs the Python package arctic-inference", "vLLM, config/speculative.py"),)
    carried = advice.method == "dspark" and request.family is not None and request.family.name in _CARRIES_DSPARK
    if carried or request.draft_for(advice.method) or (advice.method == "mtp" and own_heads(request)):
        return ()
    return (
        (advice.needed[0], *to_find(request, advice)) if advice.needs in (GuessSource.DRAFT, GuessSource.INSIDE) else ()
    )


def to_find(request: AdviceRequest, advice: MethodAdvice) -> tuple[MethodFact, ...]:
    """Drafts that are known for the family, or what to look for; empty where none is known of."""
    family, method = request.family, advice.method
    exact = tuple(each.fact for each in published(request.repository, method) if each.draft)
    if family is None or exact:
        return exact or (MethodFact("search for one whose model card names exactly this target", "Hugging Face hub"),)
    named = [each.fact for each in PUBLISHED if each.draft and each.method == method and _of(family, each)]
    if named:
        return tuple(MethodFact(f"for example, {each.says}", each.source) for each in named[:_EXAMPLES])
    if method not in family.trained:
        return ()
    return (
        MethodFact(
            f"{method} drafts exist for {family.name}; their model cards name the exact target", "Hugging Face hub"
        ),
    )


def _of(family: TargetFamily, each: PublishedUse) -> bool:
    return family_named(each.target) == family


_EXAMPLES: Final = 2
WORTH: Final = 1.05
"""A cautious speed-up below this is not worth a draft, a longer start and another thing that can break."""
UNDER_LOAD: Final = MethodFact(
    "The gain falls with the load: by half from 9 concurrent requests, and by three quarters from 32. Losses of a "
    "third were measured at 32.",
    "llm-d PR 2074 (27, 13, 0 % at 1, 4, 8 requests a second); vLLM PR 36847 (3.5 at 1, 1.6 at 32); "
    "vLLM blog 2024 (1.4 to 1.8 times slower at high load)",
)
_LEFT: Final = {PodLoad.FEW: 1.0, PodLoad.SOME: 0.5, PodLoad.MANY: 0.25}
_LOSS_BUSY: Final = 0.7


def under(load: PodLoad, band: Band) -> Band:
    """The band at a load; `band` is that with few requests. A gain shrinks, a loss stays."""
    low, high = (1 + (end - 1) * _LEFT[load] if end > 1 else end for end in (band.low, band.high))
    return Band(min(low, _LOSS_BUSY) if load is PodLoad.MANY else low, high)


_GIB: Final = 1024**3


def price(case: Case) -> str:
    """Weights and cache of the draft beside the target's; empty where too little is known."""
    inputs = inputs_of(case, device=None)
    target, draft = inputs.target, inputs.draft
    if draft is None or target.weights is None or draft.weights is None or not draft.weights.total:
        return ""
    own, beside = draft.weights.total / _GIB, target.weights.total / _GIB
    weights = f"about {own:.2f} GiB of weights, in addition to the target's {beside:.2f}"
    if target.cache is None or draft.cache is None or not target.cache.per_token:
        return weights
    return f"{weights}, and {draft.cache.per_token / target.cache.per_token:.0%} more cache for each token"
