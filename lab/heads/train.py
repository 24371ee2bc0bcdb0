"""Trains every head beside the tiny pair and writes it as a Hugging Face folder; runs where torch is.

python -m lab.heads.train MODELS OUT [NAME...]
"""

import copy
import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import torch  # type: ignore[import-not-found]
from hack.models import corpus
from hack.models.fit import fit
from hack.models.recipe import RECIPE
from hack.models.train import encode, speak
from safetensors.torch import save_file  # type: ignore[import-not-found]
from transformers import AutoModelForCausalLM, PreTrainedTokenizerFast  # type: ignore[import-not-found]
from transformers.utils import logging  # type: ignore[import-not-found]

from lab.heads import parallel
from lab.heads.eagle import EAGLE3_LAYERS, Eagle, Eagle3, Mimo
from lab.heads.lesson import Teacher
from lab.heads.parallel import Dflash, Medusa, Pard

_WITH_TOKENIZER: Final = ("target-mtp", "draft-pard")
"""Language models; a head has none of its own."""
_KEPT: Final = 1024
"""Tokens that the EAGLE-3 head can propose: the most frequent ones of code."""


_Made = tuple[dict[str, Any], dict[str, Any]]


class School:
    """The trained pair and its texts; makes one head after the other."""

    def __init__(self, models: Path) -> None:
        self.models = models
        self.target = self.model("target")
        self.config = json.loads((models / "target" / "config.json").read_text(encoding="utf-8"))
        tokenizer = PreTrainedTokenizerFast.from_pretrained(models / "target")
        code = encode(tokenizer, corpus.code_files())
        self.rows = [code, speak(self.target, code, RECIPE)]
        self.frequent = torch.bincount(code, minlength=RECIPE.vocabulary).topk(_KEPT).indices.sort().values

    def model(self, name: str) -> Any:
        """Return one of the pair, in the precision of training."""
        return AutoModelForCausalLM.from_pretrained(self.models / name, dtype=torch.float32)

    def learn(self, name: str, head: Any, steps: int) -> dict[str, Any]:
        """Train a head; return its tensors."""
        teacher = Teacher(self.target, self.rows, RECIPE, name)
        fit(list(head.named_parameters()), lambda step: head.loss(teacher.lesson(step)), steps, RECIPE, name)
        return {key: _stored(value) for key, value in head.tensors().items()}


def _stored(value: Any) -> Any:
    return value.detach().to(torch.bfloat16).contiguous() if value.is_floating_point() else value.contiguous()


def _eagle(school: School) -> _Made:
    config = school.config | {"num_hidden_layers": 1}
    return config, school.learn("eagle", Eagle(RECIPE.draft, school.target), RECIPE.head_steps)


def _eagle3(school: School) -> _Made:
    config = school.config | {
        "architectures": ["LlamaForCausalLMEagle3"],
        "num_hidden_layers": 1,
        "draft_vocab_size": _KEPT,
        "eagle_config": {"eagle_aux_hidden_state_layer_ids": list(EAGLE3_LAYERS)},
        "eagle_aux_hidden_state_layer_ids": list(EAGLE3_LAYERS),
    }
    return config, school.learn("eagle3", Eagle3(RECIPE.draft, school.target, school.frequent), RECIPE.head_steps)


def _medusa(school: School) -> _Made:
    config = {
        "architectures": ["MedusaModel"],
        "model_type": "medusa",
        "hidden_size": RECIPE.target.hidden,
        "vocab_size": RECIPE.vocabulary,
        "num_heads": parallel.HEADS,
        "num_hidden_layers": 1,
        "dtype": "bfloat16",
    }
    return config, school.learn("medusa", Medusa(RECIPE.target, school.target), RECIPE.head_steps)


def _mimo(school: School) -> _Made:
    config = school.config | {
        "architectures": ["MiMoForCausalLM"],
        "model_type": "qwen2",
        "attention_bias": True,
        "num_nextn_predict_layers": 1,
    }
    return config, school.learn("mtp", Mimo(RECIPE.target, school.target), RECIPE.head_steps)


def _dflash(school: School) -> _Made:
    config = school.config | {
        "architectures": ["DFlashDraftModel"],
        "model_type": "qwen3",
        "num_hidden_layers": 1,
        "block_size": parallel.TOKENS + 1,
        "dflash_config": {"mask_token_id": parallel.PLACEHOLDER, "target_layer_ids": list(parallel.DFLASH_LAYERS)},
    }
    return config, school.learn("dflash", Dflash(RECIPE.target, school.target), RECIPE.head_steps)


def _pard(school: School) -> _Made:
    draft = school.model("draft")
    config = json.loads((school.models / "draft" / "config.json").read_text(encoding="utf-8"))
    config["pard_token"] = parallel.PLACEHOLDER
    return config, school.learn("pard", Pard(copy.deepcopy(draft)), RECIPE.head_steps)


HEADS: Final[dict[str, Callable[[School], _Made]]] = {
    "head-eagle": _eagle,
    "head-eagle3": _eagle3,
    "head-medusa": _medusa,
    "head-dflash": _dflash,
    "target-mtp": _mimo,
    "draft-pard": _pard,
}
"""The folders, and how each gets its config.json and its tensors."""


def main(models: Path, out: Path, names: list[str]) -> None:
    """Train the named heads, or all."""
    torch.manual_seed(RECIPE.seed)
    torch.set_num_threads(2)
    logging.disable_progress_bar()
    school = School(models)
    for name in names or HEADS:
        config, tensors = HEADS[name](school)
        folder = out / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
        save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
        if name in _WITH_TOKENIZER:
            for each in sorted((models / "target").glob("*token*.json")):
                shutil.copy(each, folder)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:])
