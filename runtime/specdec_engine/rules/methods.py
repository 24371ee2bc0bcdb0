"""The method: what it needs, what the engine makes of it, and what only some methods have."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from specdec_engine.config_json import whole
from specdec_engine.methods import SUFFIX_TREE_DEPTH, WITH_DRAFT, WITHOUT_DRAFT, plain_name
from specdec_engine.model_config import ModelConfig, drafts_itself
from specdec_engine.resolve import Resolved, is_dotted
from specdec_engine.rule import Finding, at_flag, at_key, broken, shown
from specdec_engine.rules.model_runner import XPRESS
from specdec_engine.speculative_config import takes
from specdec_engine.version import Version

_NEEDS_MODEL: Final = (*WITH_DRAFT, "mlp_speculator", "custom_class")
_ABOUT_ALL: Final = frozenset(("method", "model", "tensor_parallel_size", "disable_by_batch_size"))


def methods(resolved: Resolved) -> Iterator[Finding]:
    """Which method was asked for, and which runs."""
    if not resolved.speculates or resolved.reading.misreads("method", "model"):
        return
    yield from _asked(resolved)
    yield from _modelled(resolved)
    yield from _ran(resolved)
    yield from _unused(resolved)


def _asked(resolved: Resolved) -> Iterator[Finding]:
    word, given = resolved.value("method"), resolved.value("model")
    if word is None:
        guessed = resolved.method == "draft_model" and given is not None and resolved.draft is None
        chooses = "reads it from the draft's config.json, which is not known here"
        message = chooses if guessed else f"would choose {resolved.method or 'none'}"
        yield at_key("METHOD-OMITTED", "method", None, f"set the method; the engine {message}")
    elif word != resolved.word and resolved.word == "mtp" and not _needs_alias(resolved):
        yield at_key("METHOD-ALIAS", "method", word, f"{word} is the old name of mtp; write mtp")
    if word == "draft_model" and not resolved.at_least("0.15"):
        message = f"{resolved.case.build} does not support draft models; use 0.15 or later"
        yield at_key("DRAFT-MODEL-SINCE", "method", word, message)
    if resolved.word == "mlp_speculator":
        message = "mlp_speculator has no proposer in this engine; use eagle3, mtp or ngram"
        yield at_key("MLP-SPECULATOR", "method", word, message)
    if resolved.word == "custom_class" and isinstance(given, str) and not is_dotted(given):
        message = f"{shown(given)} is not a Python class name; write it as package.module.Class"
        yield at_key("CUSTOM-CLASS-PATH", "model", given, message)


def _needs_alias(resolved: Resolved) -> bool:
    """Whether the engine knows multi-token prediction by an old name only."""
    return resolved.case.build.ascend == Version(0, 11)


def _modelled(resolved: Resolved) -> Iterator[Finding]:
    """Whether a model is there where the method needs one."""
    given, word = resolved.value("model"), resolved.word
    needs = word in _NEEDS_MODEL or (not word and not resolved.at_least("0.17"))
    if given is None and needs and resolved.k is not None:
        message = f"{word or 'the configuration'} needs `model`, the folder of the draft"
        yield at_key("MODEL-MISSING", "model", None, message)
    needless = word in WITHOUT_DRAFT and word != "custom_class"
    if given is not None and needless and given not in (word, "ngram", "[ngram]"):
        yield at_key("MODEL-UNUSED", "model", given, f"{word} drafts without a model and ignores it; remove it")


def _ran(resolved: Resolved) -> Iterator[Finding]:
    """What the engine makes of it once it has seen the draft."""
    named, method = resolved.value("method"), resolved.method
    if method == "":
        yield from _nothing(resolved)
        return
    if method == "mtp" and resolved.target is not None and resolved.target.model_type == "deepseek_v41":
        yield broken("MTP-DEEPSEEK-V41", "target.model_type", "deepseek_v41", "use the method dspark")
    if named and method and method != plain_name(named):
        message = f"the engine runs {method} here, not {named}, because of the draft's path or model type"
        yield at_key("METHOD-REPLACED", "method", named, message)
    value = resolved.value("index_share_for_mtp_iteration")
    if value is not None and method not in ("mtp", None):
        yield at_key("INDEX-SHARE-METHOD", "index_share_for_mtp_iteration", value, f"remove it with {method}")
    yield from _one_drafter(resolved, method)


def _one_drafter(resolved: Resolved, method: str | None) -> Iterator[Finding]:
    """Keys of a single drafter."""
    value = resolved.value("draft_lm_head_quantization")
    of_gemma = resolved.draft is not None and resolved.draft.model_type == "gemma4_mtp"
    if value is not None and (method not in ("eagle", "eagle3", "mtp", None) or of_gemma):
        yield at_key("LMHEAD-METHOD", "draft_lm_head_quantization", value, f"remove it with {method}")
    value, drafts = resolved.value("xpress_topc"), resolved.draft
    refined = drafts is not None and bool(XPRESS & set(drafts.architectures))
    if value is not None and resolved.opens is not None and method is not None and not refined:
        yield at_key("XPRESS-TOPC", "xpress_topc", value, f"remove it with {method}")
    elif value is not None and drafts is not None and refined and value > (_vocabulary(drafts) or value):
        message = f"{value} is above the draft's {_vocabulary(drafts)} tokens"
        yield at_key("XPRESS-RANGE", "xpress_topc", value, message)
    value = resolved.value("dspark_draft_topk")
    size = _vocabulary(drafts) if drafts is not None else None
    if value is not None and method == "dspark" and size and not 1 <= value <= size:
        yield at_key("TOPK-RANGE", "dspark_draft_topk", value, f"{value} is not between 1 and {size}")
    if value is not None and resolved.opens is not None and method not in ("dspark", None):
        yield at_key("TOPK-METHOD", "dspark_draft_topk", value, f"remove it with {method}")


def _vocabulary(draft: ModelConfig) -> int | None:
    """Tokens that a draft can draft: its own few, or its vocabulary."""
    return whole(draft.config, "draft_vocab_size") or draft.vocab_size


def _nothing(resolved: Resolved) -> Iterator[Finding]:
    """The engine finds no method: the draft is of no kind that it drafts with."""
    if resolved.draft is None:
        return
    kind = resolved.draft.model_type
    if resolved.word == "mtp" and not drafts_itself(resolved.draft, resolved.version):
        message = f"{kind} has no drafting heads; use another method, such as eagle3, draft_model or ngram"
        yield broken("MTP-FAMILY", "draft.model_type", kind, message)
    else:
        message = f"{resolved.case.build} cannot derive a method from a draft of type {kind}"
        yield at_key("METHOD-NONE", "method", resolved.value("method"), message)


def _unused(resolved: Resolved) -> Iterator[Finding]:
    if not resolved.method:
        return
    for key, value in resolved.reading.values.items():
        if key not in _ABOUT_ALL and value not in (False, None) and not takes(key, resolved.method):
            message = f"{key} has no effect with {resolved.method}; remove it"
            yield at_key("KEY-UNUSED", key, value, message)


def lookups(resolved: Resolved) -> Iterator[Finding]:
    """By method."""
    if resolved.word in ("ngram", "ngram_gpu"):
        yield from _ngram(resolved)
    elif resolved.word == "suffix":
        yield from _suffix(resolved)


def _ngram(resolved: Resolved) -> Iterator[Finding]:
    least, most = resolved.value("prompt_lookup_min"), resolved.value("prompt_lookup_max")
    if least is not None and most is not None and least > most:
        message = f"prompt_lookup_min {least} is above prompt_lookup_max {most}"
        yield at_key("NGRAM-WINDOW", "prompt_lookup_min", least, message)
    if resolved.word == "ngram":
        yield at_key("NGRAM-NUMBA", "method", "ngram", "the image needs numba; the first start is slower")


def _suffix(resolved: Resolved) -> Iterator[Finding]:
    packages = resolved.case.packages
    if packages is not None and "arctic_inference" not in packages:
        message = "use an image with arctic-inference==0.1.1, or ngram"
        yield at_key("SUFFIX-PACKAGE", "method", "suffix", message)
    elif packages is None:
        message = "check that the image has arctic-inference==0.1.1, which vLLM's own images lack, or use ngram"
        yield at_key("SUFFIX-PACKAGE-UNKNOWN", "method", "suffix", message)
    depth = resolved.value("suffix_decoding_max_tree_depth", SUFFIX_TREE_DEPTH)
    if depth < 1:
        yield at_key("SUFFIX-DEPTH", "suffix_decoding_max_tree_depth", depth, f"{depth} is below 1")
    cached = resolved.value("suffix_decoding_max_cached_requests", 0)
    if cached < 0:
        yield at_key("SUFFIX-CACHED", "suffix_decoding_max_cached_requests", cached, f"{cached} is below 0")
    factor = resolved.value("suffix_decoding_max_spec_factor", 1.0)
    if factor < 0:
        yield at_key("SUFFIX-FACTOR", "suffix_decoding_max_spec_factor", factor, f"{factor} is below 0")
    elif factor == 0:
        yield at_key(
            "SUFFIX-IDLE",
            "suffix_decoding_max_spec_factor",
            factor,
            "with a factor of 0 the engine never drafts; set it above 0, usually to 1",
        )
    least = resolved.value("suffix_decoding_min_token_prob", 0.1)
    if not 0 <= least <= 1:
        message = f"{least} is not a probability"
        yield at_key("SUFFIX-PROBABILITY", "suffix_decoding_min_token_prob", least, message)
    if config := resolved.value("draft_model_config"):
        yield at_key("SUFFIX-CONFIG", "draft_model_config", config, "remove it")


_EXAMPLE: Final = "ExampleHiddenStatesConnector"
_FIELD: Final = "speculative_config.draft_model_config"


def hidden_states(resolved: Resolved) -> Iterator[Finding]:
    """The layers, and where they go."""
    if resolved.method != "extract_hidden_states":
        return
    sent = resolved.value("draft_model_config")
    inside: Any = sent.get("hf_config", {}) if isinstance(sent, Mapping) else {}
    if not isinstance(inside, Mapping):
        yield broken(
            "HIDDEN-CONFIG", f"{_FIELD}.hf_config", inside, "write an object with eagle_aux_hidden_state_layer_ids"
        )
        return
    yield from _layers(inside.get("eagle_aux_hidden_state_layer_ids"), resolved)
    transfer = resolved.case.args.get("kv_transfer_config")
    if not isinstance(transfer, dict) or not transfer.get("kv_connector"):
        message = "add --kv-transfer-config with a connector that stores hidden states"
        yield at_flag("HIDDEN-CONNECTOR", "kv_transfer_config", transfer, message)
    elif transfer["kv_connector"] == _EXAMPLE and resolved.case.args.get("enable_chunked_prefill") is not False:
        yield at_flag(
            "ASC-HIDDEN-CHUNKS", "enable_chunked_prefill", None, "add --no-enable-chunked-prefill to engine.args"
        )


def _layers(ids: object, resolved: Resolved) -> Iterator[Finding]:
    field = f"{_FIELD}.hf_config.eagle_aux_hidden_state_layer_ids"
    numbers = isinstance(ids, list) and all(isinstance(each, int) and not isinstance(each, bool) for each in ids)
    if not isinstance(ids, list) or not ids or not numbers:
        yield broken("HIDDEN-LAYERS", field, ids, "set the layers, such as [1, 2]")
        return
    deep = resolved.target.layers if resolved.target is not None else None
    if deep is not None and (beyond := [each for each in ids if not 0 <= each <= deep]):
        yield broken("HIDDEN-LAYERS", field, ids, f"the target has {deep} layers, so it has no layer {beyond[0]}")
