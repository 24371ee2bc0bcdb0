"""Which tensors a language model of the Llama kind must hold, by its config.json. Pure; other kinds are not judged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from specdec_engine.config_json import Config

Shapes = dict[str, tuple[int | None, ...]]
FAMILIES: Final = frozenset(
    f"{family}ForCausalLM" for family in ("Llama", "Mistral", "Qwen2", "Qwen3", "Gemma", "Gemma2", "MiMo")
)
"""Architectures whose tensors have the same names and shapes in every checkpoint that transformers wrote."""
_OWN_HEAD_DIM: Final = frozenset({"LlamaForCausalLM", "MistralForCausalLM", "Qwen2ForCausalLM", "MiMoForCausalLM"})
"""Where an absent head_dim is hidden_size / num_attention_heads; other families have a number of their own."""
_NAMES: Final = "self_attn.{}_proj.weight", "mlp.{}_proj.weight"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedTensors:
    """needed: tensors without which the model is not whole. shapes: of those and of others; None is any length."""

    needed: tuple[str, ...]
    shapes: Mapping[str, tuple[int | None, ...]]
    layers: int


def tensors(config: Config) -> ExpectedTensors | None:
    """Return what must be there; None where the kind is not known, or the weights are stored in another form."""
    layers, hidden = config.number("num_hidden_layers"), config.number("hidden_size")
    name = config.architectures[0] if config.architectures else ""
    if name not in FAMILIES or config.quantization or layers is None or hidden is None:
        return None
    whole: Shapes = {"model.norm.weight": (hidden,), "model.embed_tokens.weight": (config.number("vocab_size"), hidden)}
    if config.flag("tie_word_embeddings") is False:
        whole["lm_head.weight"] = (config.number("vocab_size"), hidden)
    block = _attention(name, config, hidden) | _mlp(config, hidden)
    block |= {f"{each}_layernorm.weight": (hidden,) for each in ("input", "post_attention")}
    whole |= {f"model.layers.{at}.{part}": shape for at in range(layers) for part, shape in block.items()}
    optional: Shapes = {"lm_head.weight": (config.number("vocab_size"), hidden)}
    return ExpectedTensors(needed=tuple(whole), shapes=optional | whole, layers=layers)


def _attention(name: str, config: Config, hidden: int) -> Shapes:
    heads, size = config.number("num_attention_heads"), config.number("head_dim")
    shared = config.number("num_key_value_heads")
    if name == "LlamaForCausalLM" and not config.has("num_key_value_heads"):
        shared = heads
    if size is None and heads and name in _OWN_HEAD_DIM:
        size = hidden // heads
    width = heads * size if heads and size else None
    narrow = shared * size if shared and size else None
    shapes: Shapes = {"q": (width, hidden), "k": (narrow, hidden), "v": (narrow, hidden), "o": (hidden, width)}
    return {_NAMES[0].format(part): shape for part, shape in shapes.items()}


def _mlp(config: Config, hidden: int) -> Shapes:
    inner = config.number("intermediate_size")
    shapes: Shapes = {"gate": (inner, hidden), "up": (inner, hidden), "down": (hidden, inner)}
    return {_NAMES[1].format(part): shape for part, shape in shapes.items()}


def fits(shape: tuple[int, ...], wanted: tuple[int | None, ...]) -> bool:
    """Whether a tensor's shape is the expected one, as far as that is known."""
    return len(shape) == len(wanted) and all(b is None or a == b for a, b in zip(shape, wanted, strict=True))
