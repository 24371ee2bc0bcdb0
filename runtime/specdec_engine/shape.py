"""The sizes of a model as its config.json gives them, under whichever names its family uses; and how many parameters
these make, for models whose weights were not seen."""

from dataclasses import dataclass
from typing import Final

from specdec_engine.case import Json
from specdec_engine.config_json import LANGUAGE, SPECULATORS

_NESTED: Final = (*LANGUAGE, SPECULATORS)
_LONGEST: Final = ("max_position_embeddings", "n_positions", "max_seq_len", "seq_length", "max_sequence_length")
_TIED: Final = ("gemma", "cohere", "gpt2", "starcoder2")
"""Families whose input table is the output head unless the config sets it otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Latent:
    """Multi-head latent attention: keys and values of all heads live in one vector of kv_rank + rope elements.

    q_rank: 0 where queries are not compressed. index: size of a sparse indexer's keys, 0 without one.
    """

    kv_rank: int
    rope: int
    q_rank: int
    nope: int
    value: int
    index: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Experts:
    """Routed experts. size: inner width of one; shared: inner width of all shared ones; layers: that have experts."""

    count: int
    size: int
    shared: int
    layers: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """Sizes in elements.

    full: layers whose cache keeps every token. windowed: layers that keep the last `window` tokens.
    longest: tokens in the longest sequence it was made for; 0 if the config does not hold it.
    mtp_layers: heads for multi-token prediction inside the checkpoint.
    """

    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    intermediate: int
    vocab: int
    tied: bool
    full: int
    windowed: int
    window: int
    longest: int
    mtp_layers: int
    latent: Latent | None
    experts: Experts | None


def text_config(config: Json) -> Json:
    """The language model's part of a config, and values of the whole config that the part does not have."""
    merged = dict(config)
    for name in _NESTED:
        nested = merged.get(name)
        if isinstance(nested, dict):
            merged |= nested
    return merged


def number(config: Json, *names: str) -> int:
    """The first of the names that holds a positive whole number; 0 where none does."""
    values = (config.get(name) for name in names)
    return next((each for each in values if isinstance(each, int) and not isinstance(each, bool) and each > 0), 0)


def read_shape(config: Json | None) -> Shape | None:
    """The sizes in a config.json; None where it is not known or lacks layers, width or heads."""
    if config is None:
        return None
    text = text_config(config)
    layers = number(text, "num_hidden_layers", "n_layer", "num_layers", "n_layers")
    hidden = number(text, "hidden_size", "n_embd", "d_model")
    heads = number(text, "num_attention_heads", "n_head", "n_heads")
    if not (layers and hidden and heads):
        return None
    full, windowed = _attention_layers(text, layers)
    intermediate = number(text, "intermediate_size_mlp", "intermediate_size", "n_inner", "ffn_hidden_size")
    return Shape(
        layers=layers,
        hidden=hidden,
        heads=heads,
        kv_heads=number(text, "num_key_value_heads", "num_kv_heads", "multi_query_group_num") or heads,
        head_dim=number(text, "head_dim") or hidden // heads,
        intermediate=intermediate or 4 * hidden,
        vocab=number(text, "vocab_size", "padded_vocab_size"),
        tied=text.get("tie_word_embeddings", str(text.get("model_type")).startswith(_TIED)) is True,
        full=full,
        windowed=windowed,
        window=number(text, "sliding_window", "attention_chunk_size"),
        longest=min((size for name in _LONGEST if (size := number(text, name))), default=0),
        mtp_layers=_mtp_layers(text),
        latent=_latent(text),
        experts=_experts(text, layers),
    )


def attention_kinds(text: Json) -> str:
    """The kinds of layers, a letter each: f keeps every token, w a window, - a state of one size; empty: the config
    does not hold them.
    """
    match text.get("layer_types"):
        case list(kinds) if kinds:
            return "".join(_kind(str(kind)) for kind in kinds)
        case str(letters):
            return letters
    if isinstance(pattern := text.get("hybrid_override_pattern"), str):
        return "".join("f" if letter == "*" else "-" for letter in pattern)
    return ""


def _kind(name: str) -> str:
    if name in ("sliding_attention", "chunked_attention"):
        return "w"
    return "f" if "attention" in name and "linear" not in name else "-"


def _attention_layers(text: Json, layers: int) -> tuple[int, int]:
    """Layers that keep every token, and layers that keep a window; layers with a fixed state are in neither."""
    if kinds := attention_kinds(text):
        return kinds.count("f"), kinds.count("w")
    return layers // max(1, number(text, "full_attention_interval", "attn_layer_period")), 0


def _latent(text: Json) -> Latent | None:
    if not (rank := number(text, "kv_lora_rank")):
        return None
    return Latent(
        kv_rank=rank,
        rope=number(text, "qk_rope_head_dim"),
        q_rank=number(text, "q_lora_rank"),
        nope=number(text, "qk_nope_head_dim"),
        value=number(text, "v_head_dim"),
        index=number(text, "index_head_dim"),
    )


def _experts(text: Json, layers: int) -> Experts | None:
    count = number(text, "num_experts", "moe_num_experts", "n_routed_experts", "num_local_experts")
    if count < 2:
        return None
    size = number(text, "moe_intermediate_size", "expert_ffn_hidden_size", "intermediate_size", "ffn_hidden_size")
    shared = number(text, "shared_expert_intermediate_size", "shared_intermediate_size")
    return Experts(
        count=count,
        size=size,
        shared=shared or number(text, "n_shared_experts", "num_shared_experts") * size,
        layers=_expert_layers(text, layers),
    )


def _expert_layers(text: Json, layers: int) -> int:
    if isinstance(flags := text.get("moe_layer_freq"), list):
        return sum(bool(flag) for flag in flags)
    step = number(text, "decoder_sparse_step", "moe_layer_freq", "interleave_moe_layer_step", "moe_layer_interval")
    dense = text.get("mlp_only_layers")
    first = number(text, "first_k_dense_replace", "moe_layer_start_index")
    return max(0, (layers - first) // max(1, step) - (len(dense) if isinstance(dense, list) else 0))


def _mtp_layers(text: Json) -> int:
    inner = text.get("mtp_config")
    layers = number(text, "num_nextn_predict_layers", "mtp_num_hidden_layers", "num_mtp_modules")
    return layers or (number(inner, "num_nextn_predict_layers") if isinstance(inner, dict) else 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameters:
    """Counts by how they are stored and shared out.

    linear: attention, dense and shared layers, norms. experts: routed experts.
    embeddings: input table and output head, which quantisation leaves alone.
    """

    linear: int
    experts: int = 0
    embeddings: int = 0


def count_all(shape: Shape) -> Parameters:
    """A whole model. Gated feed-forward layers are assumed; biases and vision or audio towers are left out."""
    embeddings = shape.vocab * shape.hidden * (1 if shape.tied else 2)
    body = count_layers(shape, shape.layers, shape.experts.layers if shape.experts else 0)
    return Parameters(linear=body.linear + shape.hidden, experts=body.experts, embeddings=embeddings)


def count_layers(shape: Shape, layers: int, with_experts: int) -> Parameters:
    """Decoder layers, of which `with_experts` have routed experts instead of one dense feed-forward."""
    per_layer = _attention(shape) + 2 * shape.hidden
    linear = layers * per_layer + (layers - with_experts) * 3 * shape.hidden * shape.intermediate
    if shape.experts is None:
        return Parameters(linear=linear)
    shared, routed = _expert_layer(shape.hidden, shape.experts)
    return Parameters(linear=linear + with_experts * shared, experts=with_experts * routed)


def _expert_layer(hidden: int, experts: Experts) -> tuple[int, int]:
    """Parameters of one layer's router and shared experts, and of its routed ones."""
    return hidden * experts.count + 3 * hidden * experts.shared, 3 * hidden * experts.size * experts.count


def _attention(shape: Shape) -> int:
    if shape.latent is not None:
        return _latent_attention(shape, shape.latent)
    return 2 * shape.hidden * shape.head_dim * (shape.heads + shape.kv_heads)


def _latent_attention(shape: Shape, latent: Latent) -> int:
    queries = shape.heads * (latent.nope + latent.rope)
    down_up = latent.q_rank * (shape.hidden + queries) if latent.q_rank else shape.hidden * queries
    keys_values = shape.hidden * (latent.kv_rank + latent.rope)
    expanded = latent.kv_rank * shape.heads * (latent.nope + latent.value)
    return down_up + keys_values + expanded + shape.heads * latent.value * shape.hidden
