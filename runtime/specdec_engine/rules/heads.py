"""Drafts that the engine's configuration accepts and that cannot draft for this target."""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from specdec_engine import aux_layers
from specdec_engine.config_json import Config, whole
from specdec_engine.head_names import is_head
from specdec_engine.model_config import ModelConfig, as_drafter, assumes_heads
from specdec_engine.resolve import TRANSFORMERS_HEADS, Resolved
from specdec_engine.rule import Finding, at_key, broken
from specdec_engine.tables import in_release
from specdec_engine.version import holds

_READS_LAYERS: Final = frozenset(("eagle3", "dflash", "extract_hidden_states"))
_TARGETS: Final = (
    ("", "llama qwen minicpm gpt_oss"),
    ("0.16", "hunyuan_vl hunyuan_v1_dense afmoe"),
    ("0.17", "nemotron_h"),
    ("0.18", "deepseek_v2 deepseek_v3 kimi_k2 kimi_k25"),
    ("0.19.1", "minimax_m2 gemma4"),
    ("0.21", "laguna"),
)
MASKS: Final = ("mask_token_id", "dspark_noise_token_id", "pard_token", "ptd_token_id")
"""Keys of a config.json under which a draft has its mask token."""
_HEAD_SIGNS: Final = ("draft_vocab_size", "eagle_config", "eagle_aux_hidden_state_layer_ids", "target_hidden_size")
_SET_LAYERS: Final = "set eagle_aux_hidden_state_layer_ids in the head's config"
_FORMATS: Final = (
    *("auto", "hf", "bitsandbytes", "dummy", "fastsafetensors", "gguf", "mistral", "npcache", "pt", "runai_streamer"),
    *("runai_streamer_sharded", "safetensors", "sharded_state", "tensorizer"),
)


def heads(resolved: Resolved) -> Iterator[Finding]:
    """The target's side, the draft's side, and how they fit."""
    if not resolved.speculates or not resolved.method:
        return
    if resolved.target is not None and resolved.method in _READS_LAYERS:
        yield from _hands_out(resolved.target, resolved)
    yield from _named(resolved)
    yield from _padding(resolved)
    loader = resolved.value("draft_load_config") or {}
    if isinstance(loader.get("load_format"), str) and loader["load_format"] not in _FORMATS:
        message = (
            f"vLLM has no load format {loader['load_format']}, so the draft is not loaded without a plug-in for it; "
            "remove it, or check that the image has the plug-in"
        )
        yield at_key("LOAD-FORMAT", "draft_load_config.load_format", loader["load_format"], message)
    if resolved.draft is not None:
        yield from _draft(resolved.draft, resolved)


def _hands_out(target: ModelConfig, resolved: Resolved) -> Iterator[Finding]:
    """Whether the target gives hidden states away."""
    named = str(target.text.get("model_type") or target.model_type)
    allowed = [each for since, text in _TARGETS if holds(resolved.version, since) for each in text.split()]
    listed = resolved.method == "eagle3" or resolved.at_least("0.17")
    if listed and not any(each in named for each in allowed):
        yield broken(
            "HIDDEN-TARGET", "target.model_type", named, f"{resolved.method} works with {', '.join(allowed)} here"
        )
    seen = [each for each in target.architectures if in_release("architectures", "registered", each, resolved.version)]
    gives = [in_release("architectures", "gives_hidden_states", each, resolved.version) for each in seen]
    if seen and all(each is False for each in gives):
        message = f"{', '.join(seen)} does not provide hidden states; use another method"
        yield broken("HIDDEN-INTERFACE", "target.architectures", seen, message)


_NAMES: Final = (
    ("dflash", re.compile(r"dflash")),
    ("dspark", re.compile(r"dspark")),
    ("eagle3", re.compile(r"p-?eagle|eagle[-_]?3(?![0-9b.])")),
    ("medusa", re.compile(r"medusa")),
    ("eagle", re.compile(r"eagle(?![-_]?3)")),
)
"""Words in the names of heads that show their method; the first that is found decides."""
_TAKES_HEADS: Final = frozenset(("eagle", "eagle3", "medusa", "dflash", "dspark", "draft_model"))


def _named(resolved: Resolved) -> Iterator[Finding]:
    """A draft of which nothing is known but a name that shows another method."""
    name = resolved.case.draft_name.partition("://")[2] or resolved.case.draft_name
    name = name.rstrip("/").rpartition("/")[2].partition(":")[0].lower()
    shown = next((method for method, word in _NAMES if word.search(name)), resolved.word)
    if resolved.draft is None and resolved.word in _TAKES_HEADS and shown != resolved.word:
        message = f"by its name, {name} is a draft for {shown}, not {resolved.word}; check the method"
        yield at_key("HEAD-NAME", "model", resolved.case.draft_name, message)


def _padding(resolved: Resolved) -> Iterator[Finding]:
    parallel = resolved.method in ("dflash", "dspark") or resolved.value("parallel_drafting", False)
    needs = resolved.method in ("draft_model", "extract_hidden_states") or (parallel and resolved.opens is not None)
    if resolved.value("disable_padded_drafter_batch", False) and needs:
        message = f"remove it with {resolved.method}"
        yield at_key("UNPADDED-DRAFTER", "disable_padded_drafter_batch", True, message)


def _draft(draft: ModelConfig, resolved: Resolved) -> Iterator[Finding]:
    """Findings from the draft's own config."""
    method, parallel = resolved.method, resolved.value("parallel_drafting", False)
    drafts_at_once = method in ("dflash", "dspark") or (
        parallel and method in ("eagle", "eagle3", "mtp", "draft_model")
    )
    if drafts_at_once and not _masked(draft):
        message = f"add one of {', '.join(MASKS)} to the draft's config, or remove parallel_drafting"
        yield broken("PARALLEL-MASK", "draft.mask_token_id", None, message)
    if method in ("eagle", *aux_layers.WITH_AUX) and resolved.target is not None:
        yield from _head(draft, resolved.target, resolved)
    if method in aux_layers.WITH_AUX and resolved.target is not None and resolved.target.layers:
        yield from _layers(draft, resolved.target.layers, method)
    if method != "draft_model" or resolved.opens is None:
        return
    if draft.head or any(map(is_head, draft.architectures)):
        message = f"{', '.join(draft.architectures)} is a head; set the method of the head"
        yield broken("HEAD-AS-MODEL", "draft.architectures", list(draft.architectures), message)
    scaling = draft.text.get("rope_scaling") or draft.text.get("rope_parameters")
    if isinstance(scaling, Mapping) and "mrope_section" in scaling:
        yield broken("DRAFT-MROPE", "draft.rope_scaling", scaling, "use a text-only draft")
    if resolved.target is not None and resolved.target_is("multimodal"):
        several = list(resolved.target.architectures)
        yield broken("DRAFT-MULTIMODAL", "target.architectures", several, "use 0.22 or later, or another method")
    if resolved.case.target is not None and resolved.opens.path == resolved.case.target.path:
        message = "the draft is the target, so each guess costs a step of the target; use a smaller model of the family"
        yield at_key("DRAFT-ITSELF", "model", resolved.opens.path, message)


def _masked(draft: ModelConfig) -> bool:
    inside = draft.config.get("dflash_config")
    nested = isinstance(inside, Mapping) and inside.get("mask_token_id") is not None
    return nested or any(draft.config.get(name) is not None for name in MASKS)


def _head(draft: ModelConfig, target: ModelConfig, resolved: Resolved) -> Iterator[Finding]:
    """How a head that reads the target's hidden states fits it."""
    wants = whole(draft.config, "target_hidden_size") if resolved.method in aux_layers.WITH_AUX else None
    wants = wants or draft.hidden_size
    if wants and target.hidden_size and wants != target.hidden_size:
        message = f"the head was trained for a hidden size of {wants}, but the target has {target.hidden_size}"
        yield broken("HEAD-HIDDEN", "draft.hidden_size", wants, message)
    plain = resolved.method == "eagle3" and not draft.head and not any(name in draft.config for name in _HEAD_SIGNS)
    if plain:
        message = (
            "the draft's config has no field of an EAGLE-3 head, so it is probably an ordinary model, whose weights "
            "would not load; use a head, or method draft_model for an ordinary model"
        )
        yield broken("HEAD-ORDINARY", "draft.architectures", list(draft.architectures), message)


def _layers(draft: ModelConfig, depth: int, method: str) -> Iterator[Finding]:
    """The layers that a head takes of a target of so many."""
    config, field = Config(document=draft.config), "draft.eagle_aux_hidden_state_layer_ids"
    ids, taken = aux_layers.named(config), aux_layers.taken(method, config, depth)
    beyond = aux_layers.astray(taken, depth)
    if ids and beyond:
        message = f"the head reads layer {beyond[0]}, but the target has {depth} layers"
        yield broken("HEAD-LAYERS", field, list(ids), message)
    elif len({*taken} - {*beyond}) < len(taken) and not draft.config.get("num_aux_hidden_states"):
        few = f"because the target has only {depth} layers" if ids is None else f"because {list(ids)} has one twice"
        yield broken("HEAD-LAYERS-FEW", field, ids and list(ids), f"{_SET_LAYERS}, {few}")


def mtp(resolved: Resolved) -> Iterator[Finding]:
    """Whether the heads can draft for this target."""
    if resolved.speculates and resolved.method == "mtp" and resolved.draft is not None:
        yield from _heads(resolved.draft, resolved)


def _heads(draft: ModelConfig, resolved: Resolved) -> Iterator[Finding]:
    """Multi-token prediction: heads that are there, and belong to this target."""
    if TRANSFORMERS_HEADS in draft.architectures:
        if draft.text is not draft.config:
            yield broken(
                "MTP-TRANSFORMERS", "target.text_config", None, "remove the vision part, or use another method"
            )
        return
    unsaid = draft.n_predict is None and not assumes_heads(draft.model_type)
    if draft.n_predict == 0 or unsaid:
        message = "the config has no drafting heads, so the checkpoint probably lacks them"
        yield broken("MTP-HEADS", "draft.n_predict", draft.n_predict, message)
    target = resolved.target
    if target is not None and not resolved.own and draft.model_type != "gemma4_mtp":
        family = as_drafter(target, resolved.version).model_type
        if family != draft.model_type:
            message = f"the heads are of {draft.model_type}, but the target is {target.model_type}; remove `model`"
            yield broken("MTP-OTHER", "draft.model_type", draft.model_type, message)
    if target is not None and target.model_type == "deepseek_v32":
        yield broken(
            "MTP-EAGER",
            "target.model_type",
            target.model_type,
            "its head drafts without CUDA graphs up to 0.28, so each guess costs more; use 0.29 or later",
        )
