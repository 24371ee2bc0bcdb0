"""Whether the engine can open the models: folder, model type, architecture, quantisation."""

from collections.abc import Iterator
from typing import Final

from specdec_engine.case import ModelFolderFacts
from specdec_engine.methods import WITHOUT_DRAFT
from specdec_engine.model_config import ModelConfig, model_config
from specdec_engine.resolve import Resolved
from specdec_engine.rule import Finding, broken, shown
from specdec_engine.tables import cell_words, entries, in_release, table
from specdec_engine.version import Flavor

_HEADS_LOOKED_UP_SINCE: Final = "0.15"
_SUFFIXES: Final = ("ForCausalLM", "ForConditionalGeneration", "ChatModel", "LMHeadModel", "ForTextEncoding")
_SUFFIXES_2: Final = ("EmbeddingModel", "ForSequenceClassification", "ForTokenClassification", "RewardModel", "Model")


def folders(resolved: Resolved) -> Iterator[Finding]:
    """The target first, then the draft, as the engine opens them."""
    if resolved.case.target is not None:
        yield from _openable("target", resolved.case.target, resolved, medusa=False)
        yield from _served(resolved)
    if resolved.opens is None or not resolved.speculates or resolved.own:
        yield from _drafting(resolved)
        return
    medusa = resolved.word == "medusa" and resolved.at_least("0.25")
    yield from _openable("draft", resolved.opens, resolved, medusa=medusa)
    if medusa and resolved.opened is not None and resolved.opened.text is not resolved.opened.config:
        yield broken("MEDUSA-DRAFT", "draft.text_config", None, "use a draft with Medusa heads")
    yield from _drafting(resolved)


def _openable(role: str, model: ModelFolderFacts, resolved: Resolved, *, medusa: bool) -> Iterator[Finding]:
    """Folder and model type."""
    if model.problem:
        yield broken("MODEL-FOLDER", f"{role}.config", model.problem, f"the {role} at {model.path!r}: {model.problem}")
        return
    config = model_config(model)
    if config is None or medusa or config.head or _own_code(config, resolved):
        return
    if not config.model_type:
        if not _named_in_path(model.path, resolved):
            yield broken("MODEL-TYPE", f"{role}.model_type", None, f"the {role}'s config.json has no model_type")
    elif in_release("model_types", "known", config.model_type, resolved.version) is False:
        message = f"{resolved.case.build} does not support the {role}'s model type {config.model_type!r}"
        field = f"{role}.model_type"
        if "auto_map" in config.config:
            message += ", but its folder has code for it: add --trust-remote-code if you trust its author"
            yield broken("MODEL-CODE", field, config.model_type, message)
        else:
            yield broken("MODEL-TYPE", field, config.model_type, message)


def _own_code(model: ModelConfig, resolved: Resolved) -> bool:
    """Whether the model brings code of its own, and the engine may run it."""
    return "auto_map" in model.config and resolved.case.switched("trust_remote_code")


def _named_in_path(path: str, resolved: Resolved) -> bool:
    """Transformers before version 5 guess a missing model type from the folder's name."""
    types = (each for cell in table("model_types")["known"].values() for each in cell_words(cell))
    return not resolved.at_least("0.20") and any(each in path for each in types)


def _served(resolved: Resolved) -> Iterator[Finding]:
    """The target's own architecture."""
    target = resolved.target
    if target is None or not target.architectures or _own_code(target, resolved) or not target.model_type:
        return
    if all(_missing(each, resolved) and not _adapted(each, resolved) for each in target.architectures):
        yield _arch("ARCH-UNKNOWN", "target", target, resolved)


def _drafting(resolved: Resolved) -> Iterator[Finding]:
    """The draft's architecture as it is opened, and as the method renames it."""
    opened, draft = resolved.opened, resolved.draft
    if opened is None or draft is None or not opened.architectures or _own_code(opened, resolved) or opened.head:
        return
    if all(_missing(each, resolved) for each in opened.architectures):
        yield _arch("ARCH-UNKNOWN", "draft", opened, resolved)
    elif all(_missing(each, resolved) for each in draft.architectures):
        rule = "ARCH-UNKNOWN" if resolved.at_least(_HEADS_LOOKED_UP_SINCE) else "ARCH-HEAD"
        yield _arch(rule, "draft", draft, resolved)
    names = opened.architectures
    if any(in_release("architectures", "embedding_only", each, resolved.version) for each in names):
        rule = "DRAFT-EMBEDDING" if resolved.at_least("0.23") else "DRAFT-EMBEDS"
        yield broken(
            rule,
            "draft.architectures",
            list(names),
            f"{', '.join(names)} is an embedding model; use a model that generates text",
        )


def _arch(rule: str, role: str, model: ModelConfig, resolved: Resolved) -> Finding:
    names = ", ".join(model.architectures)
    as_what = f" as {resolved.method}" if role == "draft" and resolved.method else ""
    message = f"{resolved.case.build} has no architecture {names}; it cannot run the {role} at {model.path!r}{as_what}"
    return broken(rule, f"{role}.architectures", list(model.architectures), message)


def _missing(architecture: str, resolved: Resolved) -> bool:
    """Whether both the engine and the transformers library behind it certainly lack an architecture."""
    registered = in_release("architectures", "registered", architecture, resolved.version)
    behind = in_release("model_types", "transformers_backend", architecture, resolved.version)
    return registered is False and behind is False


def _adapted(architecture: str, resolved: Resolved) -> bool:
    """Whether the engine serves it through another class of the same model."""
    stems = [architecture.removesuffix(each) for each in (*_SUFFIXES, *_SUFFIXES_2) if architecture.endswith(each)]
    others = (f"{stem}{each}" for stem in stems for each in (*_SUFFIXES, *_SUFFIXES_2))
    return any(in_release("architectures", "registered", each, resolved.version) is not False for each in others)


_FAMILIES: Final = (
    frozenset(("gptq", "gptq_marlin", "auto_gptq", "gptq_bitblas", "moe_wna16", "inc", "auto-round")),
    frozenset(("awq", "awq_marlin", "auto_awq", "cpu_awq", "moe_wna16", "inc", "auto-round")),
)
"""Names under which the engine runs the same checkpoints."""
_CERTAIN: Final = frozenset(("fp8", "gptq", "awq", "bitsandbytes", "compressed-tensors"))
"""Quantisations of checkpoints that the engine takes for nothing else."""
_ON_NPUS: Final = (("", "ascend"), ("0.12", "compressed-tensors"), ("0.21", "fp8"), ("0.21", "deepseek_v4_fp8"))


def quantization(resolved: Resolved) -> Iterator[Finding]:
    """The target's flag or config, then the draft's key."""
    flag = resolved.case.args.get("quantization")
    if isinstance(flag, str):
        yield from _fits("args.quantization", flag, resolved.target, resolved)
        yield from _described(flag, resolved)
    elif resolved.target is not None and resolved.target.quantization in _CERTAIN:
        yield from _runs_on_npu("target.quantization_config", resolved.target.quantization, resolved)
    own = resolved.opened.quantization if resolved.opened is not None else ""
    wanted = resolved.value("quantization")
    opened = resolved.opens is not None and resolved.word not in WITHOUT_DRAFT and resolved.method is not None
    if isinstance(wanted, str) and opened and not (resolved.own and not wanted):
        yield from _fits("speculative_config.quantization", wanted, resolved.draft, resolved)
    elif own and opened and not resolved.own and resolved.case.build.flavor is Flavor.VLLM_ASCEND:
        yield from _runs_on_npu("draft.quantization_config", own, resolved)


def _described(flag: str, resolved: Resolved) -> Iterator[Finding]:
    """On NPUs a quantisation that is named must be the checkpoint's own: nothing is quantised while it is loaded."""
    target = resolved.target
    if target is None or target.quantization or resolved.case.target is None:
        return
    files = resolved.case.target.files
    lacks = flag == "ascend" and files is not None and not any(each.startswith(_MODELSLIM) for each in files)
    if lacks or flag in ("fp8", "compressed-tensors"):
        message = f"the target's folder has no {flag} weights; remove it, or use a checkpoint that has them"
        yield broken("ASC-QUANT-CONFIG", "args.quantization", flag, message)


_MODELSLIM: Final = "quant_model_description"
"""What Ascend's own tool writes beside config.json."""


def _fits(field: str, wanted: str, model: ModelConfig | None, resolved: Resolved) -> Iterator[Finding]:
    name = wanted.lower()
    if resolved.case.build.flavor is Flavor.VLLM_ASCEND:
        yield from _runs_on_npu(field, name, resolved)
    elif in_release("values", "quantization", name, resolved.version) is False:
        allowed = ", ".join(entries("values", "quantization", resolved.version))
        message = f"{resolved.case.build} has no quantisation {shown(wanted)}; it has {allowed}"
        yield broken("QUANT-UNKNOWN", field, wanted, message)
        return
    allowed_old = resolved.case.switched("allow_deprecated_quantization")
    if in_release("values", "deprecated_quantization", name, resolved.version) and not allowed_old:
        yield broken("QUANT-DEPRECATED", field, wanted, f"{wanted} is deprecated in {resolved.case.build}")
    inside = model.quantization if model is not None else ""
    if inside in _CERTAIN and name not in (inside, "humming") and not _same(name, inside):
        yield broken("QUANT-DIFFERS", field, wanted, f"the model's config has {inside}, not {wanted}; remove it")


def _runs_on_npu(field: str, name: str, resolved: Resolved) -> Iterator[Finding]:
    """The plug-in has a list of its own, with methods that vLLM does not know."""
    has = [each for since, each in _ON_NPUS if not since or resolved.at_least(since)]
    if name not in has:
        yield broken(
            "ASC-QUANT", field, name, f"{resolved.case.build} has {', '.join(has)}; use a checkpoint of one of them"
        )


def _same(wanted: str, inside: str) -> bool:
    return any({wanted, inside} <= family for family in _FAMILIES) or wanted.startswith("modelopt")
