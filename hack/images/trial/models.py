"""Model folders for the questions: configurations of the models that samples name, and one tiny model that is whole."""

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from hack.images import content
from hack.models import tensors
from specdec_operator.cli.render import rendering

SAMPLES: Final = content.ROOT / "manifests" / "samples"
_SIZES: Final = content.ROOT / "hack" / "pages" / "memory_pairs.yaml"
_POD: Final = {"/mnt/target/model": "target", "/mnt/draft/model": "draft"}
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


@dataclass(frozen=True, kw_only=True, slots=True)
class Sample:
    """A service of manifests/samples: its name, and vLLM's flags with {folder} in place of the pod's."""

    name: str
    flags: tuple[str, ...]
    models: dict[str, str]
    """target and draft by their published names."""

    def at(self, folder: str) -> dict[str, Any]:
        """Return what is asked inside the image, where the models' folders are below this one."""
        return {"name": self.name, "flags": [each.replace("{folder}", f"{folder}/{self.name}") for each in self.flags]}


def samples(kind: str) -> list[Sample]:
    """Return every sample of an accelerator as the operator renders it."""
    return [_sample(path) for path in sorted(SAMPLES.glob(f"{kind}-*.yaml"))]


def _sample(path: Path) -> Sample:
    body = yaml.safe_load(path.read_text(encoding="utf-8"))
    flags = list(rendering(body).manifest["spec"]["predictor"]["model"]["args"])
    for pod, role in _POD.items():
        flags = [each.replace(pod, f"{{folder}}/{role}") for each in flags]
    spec = body["spec"]
    named = {"target": spec["model"], "draft": spec.get("speculation", {}).get("draft")}
    models = {role: each["uri"].removeprefix("hf://").rpartition(":")[0] for role, each in named.items() if each}
    return Sample(name=path.stem, flags=tuple(flags), models=models)


def config_of(name: str) -> dict[str, Any]:
    """Return the configuration of a published model. Raises KeyError for one that models.yaml does not have."""
    known = yaml.safe_load((Path(__file__).parent / "models.yaml").read_text(encoding="utf-8"))
    if name in known["heads"]:
        head: dict[str, Any] = known["heads"][name]
        return head
    kind, sizes = known["targets"][name]
    return {**known["kinds"][kind], **yaml.safe_load(_SIZES.read_text(encoding="utf-8"))["models"][sizes]}


def write(kind: str, folder: Path) -> list[Sample]:
    """Write the configurations of all samples of an accelerator below a folder; return the samples."""
    found = samples(kind)
    for sample in found:
        for role, name in sample.models.items():
            place = folder / sample.name / role
            place.mkdir(parents=True)
            (place / "config.json").write_text(json.dumps(config_of(name)), encoding="utf-8")
    write_tiny(folder / "tiny")
    return found


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
