"""What the engine reads out of a model's config.json before any weight is loaded, drafting heads of its own included.

A value that the config does not hold is None (or empty): the engine then takes its class's default, and this code does
not guess it.
"""

import functools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from specdec_engine.case import Json, ModelFolderFacts
from specdec_engine.config_json import SPECULATORS, quantization_section, text_part, whole
from specdec_engine.tables import cell_words, row_holds, table
from specdec_engine.version import Version, holds

_LENGTHS: Final = (
    *("max_position_embeddings", "n_positions", "max_seq_len", "seq_length", "model_max_length"),
    *("max_target_positions", "max_sequence_length", "max_seq_length", "seq_len"),
)
_EXPERTS: Final = ("num_experts", "moe_num_experts", "n_routed_experts", "num_local_experts")
_KV_HEADS: Final = ("n_head_kv", "num_kv_heads", "num_key_value_heads", "multi_query_group_num", "num_attention_groups")
_RECURRENT: Final = frozenset(("mamba", "mamba2", "falcon_mamba"))
MEDUSA_CONTEXT: Final = 2**20
"""The context in tokens that the engine gives every Medusa head."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelConfig:
    """A model as the engine's configuration sees it.

    config: the top level of config.json; text: the part about the language model, often the same.
    model_type, architectures: after everything that the engine rewrites.
    context: the longest sequence in tokens that the config allows; rope scaling the engine applies is not counted in.
    n_predict: tokens that the model's own heads draft.
    head: it is an EAGLE head, or a checkpoint in the speculators' format, whose architecture is already rewritten.
    """

    path: str
    config: Json
    text: Json
    model_type: str
    architectures: tuple[str, ...]
    vocab_size: int | None
    hidden_size: int | None
    layers: int | None
    heads: int | None
    kv_heads: int | None
    experts: int
    context: int | None
    quantization: str
    n_predict: int | None = None
    head: bool = False

    @property
    def block_size(self) -> int | None:
        """Tokens that a block draft is trained to draft at once."""
        inside = self.config.get("dflash_config")
        return whole(inside if isinstance(inside, Mapping) else {}, "block_size") or whole(
            self.config, "block_size", "dspark_block_size"
        )

    def rewritten(self, model_type: str, *architectures: str) -> "ModelConfig":
        """The same model under the names that the engine gives it."""
        return replace(self, model_type=model_type, architectures=architectures)


def model_config(model: ModelFolderFacts | None) -> ModelConfig | None:
    """None where nothing is known of the model, or its config cannot be read."""
    if model is None or not isinstance(model.config, Mapping):
        return None
    config, head = _speculators(model.config)
    part = text_part(config)
    model_type = config.get("model_type")
    named = model_type if isinstance(model_type, str) else ""
    return ModelConfig(
        path=model.path,
        config=config,
        text=part,
        model_type=named,
        architectures=_names(config.get("architectures")),
        vocab_size=whole(part, "vocab_size"),
        hidden_size=whole(part, "hidden_size"),
        layers=whole(part, "num_hidden_layers"),
        heads=_heads(named, part),
        kv_heads=whole(part, *_KV_HEADS) or _heads(named, part),
        experts=whole(part, *_EXPERTS) or 0,
        context=MEDUSA_CONTEXT if named == "medusa" else _context(part),
        quantization=_quantization(config, part),
        n_predict=whole(config, "n_predict"),
        head=head or named == "eagle",
    )


def _names(value: object) -> tuple[str, ...]:
    return tuple(each for each in value if isinstance(each, str)) if isinstance(value, list) else ()


def _heads(model_type: str, part: Json) -> int | None:
    """Attention heads; 0 for what has none. Medusa's own `num_heads` are heads of another kind."""
    if model_type == "medusa" or model_type in _RECURRENT:
        return 0
    return whole(part, "num_attention_heads")


def _context(part: Json) -> int | None:
    """The smallest of the lengths; None with rope scaling, which multiplies it in ways that differ by version."""
    scaling = part.get("rope_scaling") or part.get("rope_parameters")
    if isinstance(scaling, Mapping) and "factor" in scaling:
        return None
    lengths = [length for name in _LENGTHS if (length := whole(part, name)) is not None]
    return min(lengths, default=None)


def _quantization(config: Json, part: Json) -> str:
    method = quantization_section(config, part).get("quant_method")
    return method.lower().replace("compressed_tensors", "compressed-tensors") if isinstance(method, str) else ""


_SPECULATORS: Final = {
    ("eagle3", "llama"): "Eagle3LlamaForCausalLM",
    ("eagle3", "qwen3"): "Eagle3Qwen3ForCausalLM",
    ("peagle", "llama"): "PeagleLlamaForCausalLM",
    ("peagle", "qwen3"): "PeagleQwen3ForCausalLM",
}


_CARRIED: Final = (
    *("target_hidden_size", "eagle_aux_hidden_state_layer_ids", "aux_hidden_state_layer_ids", "mask_token_id"),
    "block_size",
)
"""Keys that the engine takes over from beside the layers."""


def _speculators(config: Json) -> tuple[Json, bool]:
    """A checkpoint in the speculators' format, as the engine flattens it; everything else as it is."""
    kind = config.get("speculators_model_type")
    inner = config.get(SPECULATORS)
    if config.get("model_type") is not None or "speculators_config" not in config or not isinstance(kind, str):
        return config, False
    part = dict(inner) if isinstance(inner, Mapping) else {}
    inside = part.get("model_type", "llama")
    named = {"dflash": "DFlashDraftModel", "dflash2": "DFlash2DraftModel"}.get(kind) or _SPECULATORS.get((kind, inside))
    part |= {"model_type": "speculators", "architectures": [named] if named else []}
    part |= {key: config[key] for key in _CARRIED if key in config}
    return part | {"draft_vocab_size": config.get("draft_vocab_size"), "speculators_model_type": kind}, True


def as_drafter(model: ModelConfig, version: Version) -> ModelConfig:
    """The config as a draft: models with heads of their own become the drafter that runs those heads."""
    row = next((row for row in _rows(model) if row_holds(row, version)), None)
    if row is None:
        return model
    predicted = whole(_holder(model, row), row["n_predict"]) if row["n_predict"] else 1
    predicted = row.get("default") if predicted is None else predicted
    if row.get("default") == 0 and not predicted:
        return model
    named = (row["architecture"],) if row["architecture"] else model.architectures
    return replace(model, model_type=row["becomes"], architectures=named, n_predict=predicted)


def drafts_itself(model: ModelConfig, version: Version) -> bool | None:
    """Whether the model belongs to a family with drafting heads; None where that is not known for the version."""
    if is_drafter(as_drafter(model, version).model_type, version):
        return True
    later = (row for row in _rows(model) if not holds(version, row.get("since", "")))
    unsure = any("maybe_since" in row and holds(version, row["maybe_since"]) for row in later)
    return None if unsure else False


def of_drafting_family(model: ModelConfig) -> bool:
    """Whether some release knows drafting heads of the model's family, however many this model has."""
    return bool(_rows(model))


def is_drafter(model_type: str, version: Version) -> bool:
    """Whether a model type is one of the words for multi-token prediction in that version."""
    word = table("methods")["methods"].get(model_type)
    is_mtp = word is not None and (word.get("alias_of") == "mtp" or model_type == "mtp")
    return is_mtp and row_holds(word, version)


def assumes_heads(model_type: str) -> bool:
    """Whether the drafter of a family takes one head if the config does not hold their number."""
    return any("assumes" in row for row in table("mtp")["families"] if row["becomes"] == model_type)


def _rows(model: ModelConfig) -> tuple[dict[str, Any], ...]:
    """The rows of the table that fit, first to last."""
    return _families(model.model_type, model.architectures[0] if model.architectures else "")


@functools.lru_cache(maxsize=256)
def _families(model_type: str, architecture: str) -> tuple[dict[str, Any], ...]:
    return tuple(row for row in table("mtp")["families"] if _fits(row, model_type, architecture))


def _fits(row: Mapping[str, Any], model_type: str, architecture: str) -> bool:
    by_type = model_type in cell_words(row.get("model_types", []))
    part_of_type = bool(row.get("contains")) and row.get("contains", "") in model_type
    return by_type or part_of_type or architecture in cell_words(row.get("architectures", []))


def _holder(model: ModelConfig, row: Mapping[str, Any]) -> Mapping[str, Any]:
    """The part of the config that holds the number of heads."""
    if (nested := row.get("nested")) and isinstance(part := model.config.get(nested), Mapping):
        return part
    return text_part(model.config) if nested else model.config
