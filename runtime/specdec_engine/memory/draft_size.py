"""What a draft takes beside its target, by method: from its config.json, from its files, or from what is usual."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from specdec_engine.case import Json
from specdec_engine.memory.model_size import (
    Cache,
    ModelFacts,
    Weights,
    cache_of,
    files,
    model_facts,
    weights_of,
)
from specdec_engine.methods import LOOKUPS
from specdec_engine.shape import Parameters, Shape, count_layers, number, read_shape, text_config

_AUX_LAYERS: Final = 3  # hidden states that EAGLE-3 reads where its config names none
_BLOCK_LAYERS: Final = 5  # layers of the published DFlash and DSpark drafts
_UNSEEN_WEIGHTS: Final = 10  # a draft model is usually a tenth of its target or less: 8B beside 70B, 0.6B beside 8B
_UNSEEN_CACHE: Final = 40  # per cent of the target's cache a token: 8B/70B 40 %, 0.6B/32B 44 %
_SHARED: Final = "; it shares the target's input embedding"


def draft_facts(
    method: str,
    *,
    target: Json | None,
    draft: Json | None = None,
    weight_bytes: int | None = None,
    tokens: int = 1,
    kv_cache_dtype: str = "auto",
) -> ModelFacts:
    """The draft's facts. target, draft: the models' configs, None where they were not seen. tokens: K.

    weight_bytes: of the draft's files, an upper bound where it shares tensors with the target.
    """
    if method in LOOKUPS:
        nothing = Weights(split=0, estimated=False, source=f"{method} guesses from the text and loads no model")
        return ModelFacts(weights=nothing, cache=Cache(full=0, heads=1, entry=0))
    if method == "draft_model":
        return _whole_model(target, draft, weight_bytes, kv_cache_dtype)
    shape, own = read_shape(target), read_shape(draft)
    build = _HEADS.get(method)
    # A Medusa config names no attention, for it has none: its heads are as wide as the target.
    basis = own or (shape if draft is None or method == "medusa" else None)
    if build is None or basis is None:
        return ModelFacts(weights=None if weight_bytes is None else files(weight_bytes))
    config = draft if draft is not None else target if method == "mtp" else None
    layers, counted, joined = build(basis, draft, tokens)
    weights = weights_of(text_config(config or {}), counted, weight_bytes)
    estimate = replace(weights, whole=2 * joined, source=_source(method, draft is not None))
    cache = cache_of(basis, layers=layers, kv_cache_dtype=kv_cache_dtype)
    return ModelFacts(weights=estimate if weight_bytes is None else weights, cache=cache, vocab=basis.vocab)


def _source(method: str, seen: bool) -> str:
    if seen:
        return f"estimate from the sizes in the draft's config.json{_SHARED}"
    return f"estimate of a usual {method} head for this target{_SHARED}"


def _whole_model(target: Json | None, draft: Json | None, weight_bytes: int | None, kv_cache_dtype: str) -> ModelFacts:
    if draft is not None or target is None:
        return model_facts(draft, weight_bytes=weight_bytes, kv_cache_dtype=kv_cache_dtype)
    usual = model_facts(target, kv_cache_dtype=kv_cache_dtype)
    if usual.weights is None or usual.cache is None:
        return ModelFacts(weights=None if weight_bytes is None else files(weight_bytes))
    total = (usual.weights.split + usual.weights.experts) // _UNSEEN_WEIGHTS
    guess = Weights(
        split=total, estimated=True, source="estimate: a tenth of the target, the usual size of draft models"
    )
    weights = guess if weight_bytes is None else files(weight_bytes)
    cache = replace(usual.cache, entry=-(-usual.cache.entry * _UNSEEN_CACHE // 100))
    return ModelFacts(weights=weights, cache=cache, vocab=usual.vocab)


_Built = tuple[int, Parameters, int]
"""Layers that cache, parameters, and parameters of the layer that joins the target's states, which every device has."""


def _eagle(shape: Shape, draft: Json | None, _tokens: int) -> _Built:
    """One dense layer; the output head is the target's too."""
    layers = shape.layers if draft is not None else 1
    return layers, count_layers(shape, layers, 0), 2 * shape.hidden * shape.hidden


def _eagle3(shape: Shape, draft: Json | None, _tokens: int) -> _Built:
    """One dense layer over twice the width, a layer that joins the target's states, and an output head of its own."""
    text = text_config(draft or {})
    layers = shape.layers if draft is not None else 1
    body = count_layers(shape, layers, 0).linear
    wider = shape.hidden * shape.head_dim * (shape.heads + 2 * shape.kv_heads)
    head = shape.hidden * (number(text, "draft_vocab_size") or shape.vocab)
    joined = _joined(text) * (number(text, "target_hidden_size") or shape.hidden) * shape.hidden
    return layers, Parameters(linear=body + wider, embeddings=head), joined


def _joined(text: Json) -> int:
    inner = text.get("eagle_config")
    nested = inner.get("eagle_aux_hidden_state_layer_ids") if isinstance(inner, dict) else None
    ids = text.get("eagle_aux_hidden_state_layer_ids") or text.get("aux_hidden_state_layer_ids") or nested
    return number(text, "num_aux_hidden_states") or (len(ids) if isinstance(ids, list) else 0) or _AUX_LAYERS


def _block(shape: Shape, draft: Json | None, _tokens: int) -> _Built:
    """DFlash and DSpark: some dense layers and a layer that joins as many of the target's states."""
    layers = shape.layers if draft is not None else _BLOCK_LAYERS
    return layers, count_layers(shape, layers, 0), layers * shape.hidden * shape.hidden


def _mtp(shape: Shape, _draft: Json | None, _tokens: int) -> _Built:
    """One decoder layer like the target's for each head, and what joins two hidden states; tables are shared."""
    layers = max(1, shape.mtp_layers)
    return layers, count_layers(shape, layers, layers if shape.experts else 0), layers * 2 * shape.hidden**2


def _medusa(shape: Shape, draft: Json | None, tokens: int) -> _Built:
    """A residual layer and an output head for each position, no attention."""
    text = text_config(draft or {})
    heads = number(text, "num_heads", "medusa_num_heads") or tokens
    blocks = number(text, "num_hidden_layers", "medusa_num_layers") or 1
    own = heads * shape.hidden * shape.vocab
    return 0, Parameters(linear=0, embeddings=own), heads * blocks * shape.hidden**2


_HEADS: Final[Mapping[str, Callable[[Shape, Json | None, int], _Built]]] = MappingProxyType(
    {"eagle": _eagle, "eagle3": _eagle3, "dflash": _block, "dspark": _block, "mtp": _mtp, "medusa": _medusa}
)
