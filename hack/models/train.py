"""Trains the pair and writes it as two Hugging Face folders; runs where torch and transformers are.

python -m hack.models.train OUT
"""

from __future__ import annotations

import json
import random
import sys
import time
from pathlib import Path
from typing import Any

import torch  # type: ignore[import-not-found]
from tokenizers import (  # type: ignore[import-not-found]
    Tokenizer,
    decoders,
    models,
    pre_tokenizers,
    trainers,
)
from transformers import (  # type: ignore[import-not-found]
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedTokenizerFast,
)
from transformers.utils import logging  # type: ignore[import-not-found]

from hack.models import corpus
from hack.models.fit import fit
from hack.models.recipe import RECIPE, LlamaShape, Recipe

_BOS, _EOS, _PAD = "<s>", "</s>", "<pad>"


def train_tokenizer(recipe: Recipe, texts: list[str]) -> Any:
    """Learn a byte-level BPE on both languages, so that neither is spelled out letter by letter."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=recipe.vocabulary,
        special_tokens=[_BOS, _EOS, _PAD],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token=_BOS,
        eos_token=_EOS,
        pad_token=_PAD,
        model_max_length=recipe.context,
    )


def llama(recipe: Recipe, shape: LlamaShape, vocabulary: int) -> Any:
    """Return an untrained Llama of a shape."""
    config = LlamaConfig(
        vocab_size=vocabulary,
        hidden_size=shape.hidden,
        intermediate_size=shape.intermediate,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        num_key_value_heads=shape.heads,
        max_position_embeddings=recipe.context,
        tie_word_embeddings=False,
        bos_token_id=0,
        eos_token_id=1,
        pad_token_id=2,
    )
    return LlamaForCausalLM(config)


def encode(tokenizer: Any, texts: list[str]) -> Any:
    """Return all texts as one row of token ids."""
    ids = tokenizer.backend_tokenizer.encode_batch(texts)
    return torch.tensor([token for one in ids for token in one.ids])


def learn(model: Any, rows: list[Any], steps: int, recipe: Recipe, name: str) -> None:
    """Train on windows drawn in turn from the rows."""
    dice = random.Random(f"{name}-{recipe.seed}")  # noqa: S311 (a draw of windows, not a secret)
    fit(list(model.named_parameters()), lambda step: _loss(model, rows, step, dice, recipe), steps, recipe, name)


def _loss(model: Any, rows: list[Any], step: int, dice: random.Random, recipe: Recipe) -> Any:
    """Return the loss on one batch of windows."""
    picked = [rows[(step + i) % len(rows)] for i in range(recipe.batch)]
    firsts = [dice.randrange(len(row) - recipe.window) for row in picked]
    batch = torch.stack([row[at : at + recipe.window] for row, at in zip(picked, firsts, strict=True)])
    return model(input_ids=batch, labels=batch).loss


def speak(target: Any, code: Any, recipe: Recipe) -> Any:
    """Return how the target goes on, greedily, from many places of the code: what the draft has to foresee."""
    dice = random.Random(f"speak-{recipe.seed}")  # noqa: S311 (a draw of places, not a secret)
    firsts = [dice.randrange(len(code) - recipe.window) for _ in range(recipe.spoken)]
    starts = torch.stack([code[at : at + recipe.window // 2] for at in firsts])
    target.eval()
    said = target.generate(
        starts,
        attention_mask=torch.ones_like(starts),
        max_new_tokens=recipe.window,
        do_sample=False,
        eos_token_id=None,
        pad_token_id=2,
    )
    return torch.as_tensor(said).flatten()


def save(model: Any, tokenizer: Any, folder: Path) -> None:
    """Write a model and its tokenizer as vLLM reads them."""
    model.to(torch.bfloat16).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def main(out: Path, recipe: Recipe = RECIPE) -> None:
    """Train target and draft, and write them with their prompts."""
    torch.manual_seed(recipe.seed)
    torch.set_num_threads(2)
    logging.disable_progress_bar()
    files, chains = corpus.code_files(), corpus.drift_texts(recipe.seed)
    started = time.monotonic()
    tokenizer = train_tokenizer(recipe, files + chains[:64])
    code, drift = encode(tokenizer, files), encode(tokenizer, chains)
    print(
        f"tokenizer: {len(tokenizer)} tokens, {len(code)} of code, {len(drift)} of drift, "
        f"{time.monotonic() - started:.0f} s",
        flush=True,
    )

    target = llama(recipe, recipe.target, recipe.vocabulary)
    learn(target, [code], recipe.code_steps, recipe, "target on code")
    learn(target, [code, drift], recipe.drift_steps, recipe, "target on both")
    draft = llama(recipe, recipe.draft, recipe.vocabulary)
    learn(draft, [code, speak(target, code, recipe)], recipe.draft_steps, recipe, "draft on code")

    save(target, tokenizer, out / "target")
    save(draft, tokenizer, out / "draft")
    save(llama(recipe, recipe.draft, recipe.vocabulary + 2), tokenizer, out / "draft-other-vocab")
    texts = corpus.prompts(recipe.seed, recipe.prompts, files)
    (out / "prompts.json").write_text(json.dumps(texts, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
