"""The numbers of the tiny pair: sizes, steps, seed. Everything that decides what is trained stands here."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class LlamaShape:
    """The size of one Llama."""

    layers: int
    hidden: int
    heads: int
    intermediate: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Recipe:
    """How the pair is trained.

    Steps are counted, not seconds, so that the same machine gets the same models. More code steps for the
    target do not help: a target that loops less is harder to guess for a draft of one layer.
    """

    seed: int = 11
    vocabulary: int = 2048
    context: int = 1024
    window: int = 128
    batch: int = 6
    target: LlamaShape = LlamaShape(layers=4, hidden=128, heads=4, intermediate=352)
    draft: LlamaShape = LlamaShape(layers=1, hidden=128, heads=4, intermediate=352)
    code_steps: int = 150
    drift_steps: int = 120
    draft_steps: int = 300
    head_steps: int = 200
    spoken: int = 256
    embedding_rate: float = 1e-2
    matrix_rate: float = 2e-2
    prompts: int = 32


RECIPE = Recipe()
