"""The draft must be of the kind that the method wants, and of a kind that this engine knows."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from specdec_engine import head_names
from specdec_engine.methods import PATH_METHODS, head_name
from specdec_engine.rule import Finding, Severity
from specdec_engine.tables import in_release, releases
from specdec_engine.version import NEWEST, Version
from specdec_runtime.preflight.finding import FolderRule

if TYPE_CHECKING:
    from specdec_runtime.preflight.artifact import ModelFolder

_HEAD_TENSORS: Final = re.compile(
    r"(^|\.)(fc|eagle_linear|midlayer|d2t|t2d|mask_hidden|medusa_heads|blocks|markov_head|enorm|eh_proj|mtp\w*)(\.|$)"
    r"|^\d+\.\d+\.linear\."
)


def is_head(artifact: ModelFolder) -> bool:
    """Whether a folder certainly holds a head. A head is not a language model of its own."""
    config, tensors = artifact.settings, artifact.tensors or {}
    named = any(map(head_names.is_head, config.architectures))
    marked = "fc.weight" in tensors or "eagle_linear.weight" in tensors
    return named or marked or config.model_type in head_names.TYPES or "speculators_model_type" in config.document


def is_language_model(artifact: ModelFolder) -> bool:
    """Whether a folder certainly holds a whole language model and nothing of a head."""
    names = (artifact.tensors or {}).keys()
    whole = {"model.embed_tokens.weight", "model.norm.weight", "model.layers.0.input_layernorm.weight"} <= names
    plain = all(each.endswith("ForCausalLM") for each in artifact.settings.architectures)
    return whole and plain and not is_head(artifact) and not any(_HEAD_TENSORS.search(name) for name in names)


if TYPE_CHECKING:
    from collections.abc import Iterator

    from specdec_runtime.preflight.case import PreflightCase

PLAIN: Final = FolderRule(
    id="DraftIsLanguageModel",
    severity=Severity.REFUSED,
    when="eagle, eagle3, dflash, dspark, medusa; the tensors are those of a complete language model",
    says="The draft is a head of this method.",
    without="`There is no module or parameter named 'lm_head'` and similar errors after 21 s of loading; the engine "
    "accepts the configuration.",
    source="run, 0.32",
)
HEAD: Final = FolderRule(
    id="DraftIsHead",
    severity=Severity.REFUSED,
    when="draft_model; architecture, model_type or tensors are those of a head",
    says="The draft is a complete language model.",
    without="The engine uses another method than the requested one, or fails during loading.",
    source="config/speculative.py, 0.32",
)
GONE: Final = FolderRule(
    id="MethodNotInEngine",
    severity=Severity.REFUSED,
    when="medusa with vLLM 0.33 or newer; mlp_speculator with any",
    says="The engine supports the method.",
    without="`Input should be ...` of pydantic, or `Model architectures ... are not supported for now`.",
    source="model_executor/models/registry.py, 0.11 to 0.33",
)
PATH: Final = FolderRule(
    id="DraftPathMisread",
    severity=Severity.REFUSED,
    when="draft_model, medusa or mtp with a draft; inside the image",
    says="The draft's path does not contain eagle-, eagle3, dflash or dspark.",
    without="The path decides: the engine replaces the requested method, and loading fails.",
    source="config/speculative.py, 0.32",
)
UNKNOWN: Final = FolderRule(
    id="DraftArchitectureUnknown",
    severity=Severity.WARNED,
    when="eagle, eagle3, dflash; the engine's version is known",
    says="The rewritten architecture (Eagle..., Eagle3..., DFlash...) is registered in this vLLM.",
    without="`Model architectures ... are not supported for now` after 9 s.",
    source="model_executor/models/registry.py, 0.11 to 0.33",
)
_LOST: Final = ("medusa", "mlp_speculator")
_REPLACED: Final = ("draft_model", "medusa", "mtp")
RULES: Final = (PLAIN, HEAD, GONE, PATH, UNKNOWN)


def fits(case: PreflightCase) -> Iterator[Finding]:
    """A head for methods with heads, a language model for draft_model."""
    head, draft = case.head, case.draft
    if head is not None and is_language_model(head):
        yield PLAIN.found(
            head.field,
            f"{head.path} has {_names(head.settings.architectures)} with {len(head.tensors or {})} tensors, a "
            f"complete language model: method {case.method} needs a head that was trained for this target; set "
            '"method": "draft_model", or set the folder of the head',
        )
    if draft is not None and case.method == "draft_model" and is_head(draft):
        kind = draft.settings.text("speculators_model_type") or _names(draft.settings.architectures)
        yield HEAD.found(
            draft.field,
            f"{draft.path} has a head ({kind}): method draft_model needs a complete language model; set the method "
            "that the head was trained for (eagle, eagle3, dflash, medusa)",
        )


def in_engine(case: PreflightCase) -> Iterator[Finding]:
    """The engine has not lost the method; of an engine that is not known, only that none ever had it."""
    told = case.around.engine is not None or case.method == "mlp_speculator"
    if told and case.method in _LOST and case.broken("METHOD-UNKNOWN", "MLP-SPECULATOR"):
        engine = ".".join(map(str, case.around.engine or ())) or "of any version"
        yield GONE.found(
            "--speculative-config method",
            f"method is {case.method} and vLLM is {engine}: medusa was removed after 0.32, and mlp_speculator never "
            "ran on the V1 engine; use eagle3, draft_model, or ngram and suffix, which need no draft",
        )


def path(case: PreflightCase) -> Iterator[Finding]:
    """The path of the draft does not change the method."""
    if case.draft is None or case.method not in _REPLACED or not case.broken("METHOD-REPLACED"):
        return
    word = next((word for word, _ in PATH_METHODS if word in str(case.draft.path).lower()), "")
    if word and case.around.packages is not None:
        yield PATH.found(
            case.draft.field,
            f"{case.draft.path} contains {word!r}: with this name vLLM uses method {case.resolved.method} instead of "
            f"the requested method {case.method}; rename the folder of the draft",
        )


def architecture(case: PreflightCase) -> Iterator[Finding]:
    """The engine knows the name under which it will look for the head."""
    head, engine = case.head, case.around.engine
    if head is None or engine is None or case.method not in {"eagle", "eagle3", "dflash"}:
        return
    if head.settings.section("speculators_config").document or not head.settings.architectures:
        return
    name = head_name(case.method, head.settings.architectures[0])
    if in_release("architectures", "registered", name, Version(*engine)) is False:
        later = [each for each in releases("architectures", "registered", name) if each > Version(*engine)]
        support = (
            f"vLLM supports it since {later[0].major}.{later[0].minor}"
            if later
            else f"no vLLM up to {NEWEST[0]}.{NEWEST[1]} supports it"
        )
        yield UNKNOWN.found(
            head.field,
            f"{head.path}/config.json has architecture {head.settings.architectures[0]}, which {case.method} looks up "
            f"as {name}, and {support}: the engine here is {engine[0]}.{engine[1]}; it will reject the head, unless a "
            "plugin adds the architecture",
        )


def _names(architectures: tuple[str, ...]) -> str:
    return ", ".join(architectures) or "no named architecture"
