"""The tiny model of the questions: whole, with weights and a tokenizer."""

import json
import math
from pathlib import Path
from typing import Any, Final

from hack.models import tensors

_VALUE: Final = b"\xa4\x3c\xa4\xbc"
"""0.02 and -0.02 in bfloat16."""
TINY: Final = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "vocab_size": 64,
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "head_dim": 32,
    "max_position_embeddings": 256,
    "tie_word_embeddings": True,
    "dtype": "bfloat16",
}


def write_tiny(folder: Path) -> None:
    """Write a Llama of one layer with weights and a tokenizer, which nothing stands against."""
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(TINY), encoding="utf-8")
    words = {f"t{number}": number for number in range(64)}
    empty = dict.fromkeys(("truncation", "padding", "normalizer", "pre_tokenizer", "post_processor", "decoder"))
    model = {"type": "WordLevel", "vocab": words, "unk_token": "t0"}
    tokenizer: dict[str, Any] = {"version": "1.0", **empty, "added_tokens": [], "model": model}
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer), encoding="utf-8")
    (folder / "tokenizer_config.json").write_text('{"tokenizer_class": "PreTrainedTokenizerFast"}', encoding="utf-8")
    tensors.write(folder / tensors.FILE, {name: _tensor(shape) for name, shape in _shapes().items()})


def _shapes() -> dict[str, tuple[int, ...]]:
    layer = {
        "input_layernorm": (64,),
        "post_attention_layernorm": (64,),
        "self_attn.q_proj": (64, 64),
        "self_attn.k_proj": (32, 64),
        "self_attn.v_proj": (32, 64),
        "self_attn.o_proj": (64, 64),
        "mlp.gate_proj": (128, 64),
        "mlp.up_proj": (128, 64),
        "mlp.down_proj": (64, 128),
    }
    below = {f"model.layers.0.{name}.weight": shape for name, shape in layer.items()}
    return {"model.embed_tokens.weight": (64, 64), "model.norm.weight": (64,), **below}


def _tensor(shape: tuple[int, ...]) -> tensors.Tensor:
    return tensors.Tensor(dtype="BF16", shape=shape, data=_VALUE * (math.prod(shape) // 2))
