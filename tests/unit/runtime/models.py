"""Writes model folders as Hugging Face lays them out: real headers, tiny tensors of plausible numbers."""

import json
import math
import struct
from pathlib import Path
from typing import Any

VOCABULARY = {"a": 0, "b": 1, "c": 2, "d": 3}
HIDDEN = 2
Shapes = dict[str, tuple[int, ...]]
Json = dict[str, Any]

LLAMA: Json = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "vocab_size": 64,
    "hidden_size": 16,
    "intermediate_size": 24,
    "num_hidden_layers": 8,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 1024,
    "tie_word_embeddings": False,
    "dtype": "bfloat16",
}
"""A Llama with grouped heads, in small."""
WORDS = {f"t{number}": number for number in range(64)}


def tensor_bytes(shape: tuple[int, ...], kind: str = "BF16") -> bytes:
    """Numbers as training leaves them: around 0.02, of either sign."""
    one = {"BF16": b"\xa4\x3c\xa4\xbc", "F16": struct.pack("<2e", 0.02, -0.02), "F32": struct.pack("<2f", 0.02, -0.02)}
    width = {"BF16": 2, "F16": 2, "F32": 4, "U8": 1, "F8_E4M3": 1, "I32": 4, "I64": 8, "BOOL": 1}[kind]
    size = math.prod(shape) * width
    pattern = one.get(kind, b"\x01\x00\x00\x00")
    return (pattern * (size // len(pattern) + 1))[:size]


def file(tensors: dict[str, tuple[str, tuple[int, ...]]]) -> bytes:
    header, data = {}, b""
    for name, (kind, shape) in tensors.items():
        part = tensor_bytes(shape, kind)
        header[name] = {"dtype": kind, "shape": list(shape), "data_offsets": [len(data), len(data) + len(part)]}
        data += part
    text = json.dumps({"__metadata__": {"format": "pt"}} | header).encode()
    return struct.pack("<Q", len(text)) + text + data


def safetensors(shape: tuple[int, ...] = (len(VOCABULARY), HIDDEN), name: str = "model.embed_tokens.weight") -> bytes:
    """One bfloat16 tensor as a whole safetensors file."""
    return file({name: ("BF16", shape)})


def stored(shapes: Shapes, kind: str = "BF16") -> bytes:
    """A whole safetensors file of these shapes, all of one type."""
    return file({name: (kind, shape) for name, shape in shapes.items()})


def decoder(config: Json, prefix: str = "model.") -> Shapes:
    """The tensors of a model of the Llama kind, from its config."""
    hidden, inner, size = config["hidden_size"], config["intermediate_size"], config["vocab_size"]
    head = config.get("head_dim") or hidden // config["num_attention_heads"]
    wide, narrow = config["num_attention_heads"] * head, config["num_key_value_heads"] * head
    shapes: Shapes = {f"{prefix}embed_tokens.weight": (size, hidden), f"{prefix}norm.weight": (hidden,)}
    for at in range(config["num_hidden_layers"]):
        shapes |= {f"{prefix}layers.{at}.{name}": shape for name, shape in _layer(hidden, inner, wide, narrow).items()}
    return shapes if config.get("tie_word_embeddings") else shapes | {"lm_head.weight": (size, hidden)}


def _layer(hidden: int, inner: int, wide: int, narrow: int) -> Shapes:
    return {
        "input_layernorm.weight": (hidden,),
        "post_attention_layernorm.weight": (hidden,),
        "self_attn.q_proj.weight": (wide, hidden),
        "self_attn.k_proj.weight": (narrow, hidden),
        "self_attn.v_proj.weight": (narrow, hidden),
        "self_attn.o_proj.weight": (hidden, wide),
        "mlp.gate_proj.weight": (inner, hidden),
        "mlp.up_proj.weight": (inner, hidden),
        "mlp.down_proj.weight": (hidden, inner),
    }


def write(
    folder: Path,
    *,
    config: Json | None = None,
    vocabulary: dict[str, int] | list[list[Any]] | None = None,
    added: list[Json] | None = None,
    weights: bytes | None = None,
) -> Path:
    """A folder without a fault, unless the arguments add one."""
    folder.mkdir(parents=True)
    settings = {"vocab_size": len(VOCABULARY), "hidden_size": HIDDEN, "max_position_embeddings": 1024}
    (folder / "config.json").write_text(json.dumps(settings | (config or {})))
    tokenizer = {"model": {"vocab": vocabulary or VOCABULARY}, "added_tokens": added or []}
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    (folder / "model.safetensors").write_bytes(safetensors() if weights is None else weights)
    return folder


def llama(folder: Path, **changes: object) -> Path:
    """A whole Llama; changes are of its config, and its tensors follow them."""
    config = LLAMA | changes
    return write(folder, config=config, vocabulary=WORDS, weights=stored(decoder(config)))


def head(folder: Path, config: Json, shapes: Shapes) -> Path:
    """A head: a config and tensors, and no tokenizer, as heads are published."""
    write(folder, config=config, weights=stored(shapes))
    (folder / "tokenizer.json").unlink()
    return folder


EAGLE: Json = LLAMA | {"num_hidden_layers": 1}
EAGLE_SHAPES: Shapes = {
    "fc.weight": (16, 32),
    **{f"layers.0.{name}": shape for name, shape in _layer(16, 24, 16, 8).items()},
}
EAGLE3: Json = EAGLE | {"architectures": ["LlamaForCausalLMEagle3"], "draft_vocab_size": 32}
EAGLE3_SHAPES: Shapes = {
    "fc.weight": (16, 48),
    "norm.weight": (16,),
    "lm_head.weight": (32, 16),
    "d2t": (32,),
    "t2d": (64,),
    **{f"midlayer.{name}": shape for name, shape in _layer(16, 24, 16, 8).items() if "_proj" not in name},
}
DFLASH: Json = LLAMA | {
    "architectures": ["DFlashDraftModel"],
    "model_type": "qwen3",
    "block_size": 8,
    "dflash_config": {"mask_token_id": 3, "target_layer_ids": [1, 3, 5]},
}
DFLASH_SHAPES: Shapes = {"fc.weight": (16, 48), "norm.weight": (16,), "layers.0.self_attn.q_proj.weight": (16, 16)}
MEDUSA: Json = {"model_type": "medusa", "medusa_num_heads": 4, "hidden_size": 16, "vocab_size": 64}
MEDUSA_SHAPES: Shapes = {
    name: shape
    for at in range(4)
    for name, shape in ((f"blocks.{at}.layers.0.weight", (16, 16)), (f"lm_heads.{at}.weight", (64, 16)))
}
MTP: Json = LLAMA | {"architectures": ["Glm4MoeForCausalLM"], "model_type": "glm4_moe", "num_nextn_predict_layers": 2}
