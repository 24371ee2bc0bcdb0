"""Drafts that the engine's configuration accepts and that cannot draft for this target."""

from collections.abc import Iterator, Mapping
from typing import Final

from specdec_operator.engine.facts import Facts, whole
from specdec_operator.engine.rule import Finding
from specdec_operator.engine.rules.making import RECORDED, SPECULATIVE, refused, stricter, warned
from specdec_operator.engine.settled import Settled
from specdec_operator.engine.tables import known
from specdec_operator.engine.version import holds

ALLOWED: Final = refused(
    "HIDDEN-TARGET",
    "Up to 0.21 eagle3, and since 0.17 what else reads hidden states, works with some targets only.",
    SPECULATIVE,
    until="0.21",
)
INTERFACE: Final = stricter(
    "HIDDEN-INTERFACE",
    "The target's architecture must hand out the hidden states of its layers.",
    "RuntimeError at load: Model does not support EAGLE3 interface",
)
SIZE: Final = stricter("HEAD-HIDDEN", "An EAGLE head has the target's hidden size.", RECORDED)
LAYERS: Final = stricter("HEAD-LAYERS", "A head reads layers that the target has.", RECORDED)
FEW: Final = stricter(
    "HEAD-LAYERS-FEW",
    "Without named layers an EAGLE-3 head reads three: 2, the middle, the fourth from the end; they must differ.",
    "measured on 0.32.0: the first request stops the engine",
)
ORDINARY: Final = warned(
    "HEAD-ORDINARY", "An ordinary model given as a head is accepted, and fails when its weights are loaded.", RECORDED
)
AS_MODEL: Final = stricter("HEAD-AS-MODEL", "A head does not run as a draft model.", RECORDED, since="0.15")
MASK: Final = stricter(
    "PARALLEL-MASK",
    "Parallel drafting needs a mask token in the draft's config.",
    "ValueError when the drafter starts: For parallel drafting, the draft model config must have ...",
    since="0.16",
)
UNPADDED: Final = stricter(
    "UNPADDED-DRAFTER",
    "Draft models, parallel drafting and extract_hidden_states need a padded drafter batch.",
    "raised when the drafter starts",
    since="0.15",
)
MULTIMODAL: Final = stricter(
    "DRAFT-MULTIMODAL",
    "Up to 0.21 draft models and parallel drafting do not serve multimodal targets.",
    "raised when the drafter starts",
    since="0.15",
    until="0.21",
)
MROPE: Final = stricter(
    "DRAFT-MROPE", "A draft model with M-RoPE does not run.", "raised when the drafter starts", since="0.15"
)
ITSELF: Final = warned(
    "DRAFT-ITSELF", "A target that drafts for itself costs twice and gains nothing.", RECORDED, since="0.15"
)
LOADER: Final = warned(
    "LOAD-FORMAT", "Unknown load formats are accepted and fail at load, unless a plug-in brings them.", RECORDED
)

RULES: Final = (
    ALLOWED,
    INTERFACE,
    SIZE,
    LAYERS,
    FEW,
    ORDINARY,
    AS_MODEL,
    MASK,
    UNPADDED,
    MULTIMODAL,
    MROPE,
    ITSELF,
    LOADER,
)

_READS_LAYERS: Final = frozenset(("eagle3", "dflash", "extract_hidden_states"))
_TARGETS: Final = (
    ("", "llama qwen minicpm gpt_oss"),
    ("0.16", "hunyuan_vl hunyuan_v1_dense afmoe"),
    ("0.17", "nemotron_h"),
    ("0.18", "deepseek_v2 deepseek_v3 kimi_k2 kimi_k25"),
    ("0.19.1", "minimax_m2 gemma4"),
    ("0.21", "laguna"),
)
_MASKS: Final = ("mask_token_id", "dspark_noise_token_id", "pard_token", "ptd_token_id")
_HEAD_SIGNS: Final = ("draft_vocab_size", "eagle_config", "eagle_aux_hidden_state_layer_ids", "target_hidden_size")
_FORMATS: Final = frozenset(
    (
        "auto",
        "hf",
        "bitsandbytes",
        "dummy",
        "fastsafetensors",
        "gguf",
        "mistral",
        "npcache",
        "pt",
        "runai_streamer",
        "runai_streamer_sharded",
        "safetensors",
        "sharded_state",
        "tensorizer",
    )
)


def check(settled: Settled) -> Iterator[Finding]:
    """The target's side, the draft's side, and how they fit."""
    if not settled.speculates or not settled.method:
        return
    if settled.target is not None and settled.method in _READS_LAYERS:
        yield from _hands_out(settled.target, settled)
    yield from _padding(settled)
    loader = settled.value("draft_load_config") or {}
    if isinstance(loader.get("load_format"), str) and loader["load_format"] not in _FORMATS:
        field = "speculative_config.draft_load_config.load_format"
        yield LOADER.broken(field, loader["load_format"], f"{loader['load_format']} is no load format that vLLM brings")
    if settled.draft is not None:
        yield from _draft(settled.draft, settled)


def _hands_out(target: Facts, settled: Settled) -> Iterator[Finding]:
    """Whether the target gives hidden states away."""
    named = str(target.text.get("model_type") or target.model_type)
    allowed = [each for since, text in _TARGETS if holds(settled.version, since) for each in text.split()]
    listed = settled.method == "eagle3" or settled.at_least("0.17")
    if listed and not any(each in named for each in allowed):
        yield ALLOWED.broken("target.model_type", named, f"{settled.method} works with {', '.join(allowed)} here")
    seen = [each for each in target.architectures if known("architectures", "registered", each, settled.version)]
    gives = [known("architectures", "gives_hidden_states", each, settled.version) for each in seen]
    if seen and all(each is False for each in gives):
        message = f"{', '.join(seen)} hands out no hidden states; use another method"
        yield INTERFACE.broken("target.architectures", seen, message)


def _padding(settled: Settled) -> Iterator[Finding]:
    parallel = settled.method in ("dflash", "dspark") or settled.value("parallel_drafting", False)
    needs = settled.method in ("draft_model", "extract_hidden_states") or (parallel and settled.opens is not None)
    if settled.value("disable_padded_drafter_batch", False) and needs:
        field = "speculative_config.disable_padded_drafter_batch"
        yield UNPADDED.broken(field, True, f"remove it with {settled.method}")


def _draft(draft: Facts, settled: Settled) -> Iterator[Finding]:
    """What the draft's config says about itself."""
    method, parallel = settled.method, settled.value("parallel_drafting", False)
    drafts_at_once = method in ("dflash", "dspark") or (
        parallel and method in ("eagle", "eagle3", "mtp", "draft_model")
    )
    if drafts_at_once and not _masked(draft):
        message = f"add one of {', '.join(_MASKS)} to the draft's config, or remove parallel_drafting"
        yield MASK.broken("draft.mask_token_id", None, message)
    if method in ("eagle", "eagle3") and settled.target is not None:
        yield from _head(draft, settled.target, settled)
    if method != "draft_model" or settled.opens is None:
        return
    if draft.head or any(_is_head(each) for each in draft.architectures):
        message = f"{', '.join(draft.architectures)} is a head; name its method"
        yield AS_MODEL.broken("draft.architectures", list(draft.architectures), message)
    scaling = draft.text.get("rope_scaling") or draft.text.get("rope_parameters")
    if isinstance(scaling, Mapping) and "mrope_section" in scaling:
        yield MROPE.broken("draft.rope_scaling", scaling, "use a text-only draft")
    several = settled.target.architectures if settled.target is not None else ()
    if any(known("architectures", "multimodal", each, settled.version) for each in several):
        yield MULTIMODAL.broken("target.architectures", list(several), "use 0.22 or later, or another method")
    if settled.case.target is not None and settled.opens.path == settled.case.target.path:
        yield ITSELF.broken("speculative_config.model", settled.opens.path, "use a smaller model of the family")


def _masked(draft: Facts) -> bool:
    inside = draft.config.get("dflash_config")
    nested = isinstance(inside, Mapping) and inside.get("mask_token_id") is not None
    return nested or any(draft.config.get(name) is not None for name in _MASKS)


def _is_head(architecture: str) -> bool:
    return architecture.startswith(("Eagle", "DFlash", "Peagle", "PEagle", "Medusa")) or architecture.endswith("Eagle3")


def _head(draft: Facts, target: Facts, settled: Settled) -> Iterator[Finding]:
    """How an EAGLE head fits the target."""
    wants = whole(draft.config, "target_hidden_size") if settled.method == "eagle3" else None
    wants = wants or draft.hidden_size
    if wants and target.hidden_size and wants != target.hidden_size:
        message = f"the head was trained for a hidden size of {wants}, the target has {target.hidden_size}"
        yield SIZE.broken("draft.hidden_size", wants, message)
    ids = draft.config.get("eagle_aux_hidden_state_layer_ids")
    numbers = [each for each in ids if isinstance(each, int)] if isinstance(ids, list) else []
    if target.layers and (beyond := [each for each in numbers if not 0 <= each <= target.layers]):
        message = f"the head reads layer {beyond[0]}, the target has {target.layers}"
        yield LAYERS.broken("draft.eagle_aux_hidden_state_layer_ids", ids, message)
    yield from _default_layers(draft, target, settled)
    plain = settled.method == "eagle3" and not draft.head and not any(name in draft.config for name in _HEAD_SIGNS)
    if plain:
        message = "the draft's config has none of an EAGLE-3 head's fields; is it an ordinary model?"
        yield ORDINARY.broken("draft.architectures", list(draft.architectures), message)


def _default_layers(draft: Facts, target: Facts, settled: Settled) -> Iterator[Finding]:
    """The three layers that the engine takes by itself."""
    inside = draft.config.get("eagle_config")
    named = draft.config.get("eagle_aux_hidden_state_layer_ids") or isinstance(inside, Mapping)
    if settled.method != "eagle3" or named or draft.config.get("num_aux_hidden_states") or not target.layers:
        return
    deep = target.layers
    if len({2, deep // 2, deep - 3}) < 3 or deep < 4:
        message = f"name eagle_aux_hidden_state_layer_ids in the head's config: the target has {deep} layers only"
        yield FEW.broken("draft.eagle_aux_hidden_state_layer_ids", None, message)
