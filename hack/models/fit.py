"""The training loop that every tiny model goes through; runs where torch is."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import torch  # type: ignore[import-not-found]

from hack.models.muon import Muon

if TYPE_CHECKING:
    from collections.abc import Callable

    from hack.models.recipe import Recipe


def fit(named: list[tuple[str, Any]], loss: Callable[[int], Any], steps: int, recipe: Recipe, name: str) -> None:
    """Train parameters by a loss of the step; the rates rise quickly, then fall to zero."""
    inner = [each for label, each in named if _is_inner(label, each)]
    rest = [each for label, each in named if not _is_inner(label, each)]
    muon, adam = Muon(inner), torch.optim.AdamW(rest, betas=(0.9, 0.95), weight_decay=0.0)
    started = time.monotonic()
    for step in range(steps):
        found = loss(step)
        adam.zero_grad(set_to_none=True)
        for each in inner:
            each.grad = None
        found.backward()
        share = min(1.0, (step + 1) / 10) * (1 - step / steps)
        adam.param_groups[0]["lr"] = recipe.embedding_rate * share
        adam.step()
        muon.step(recipe.matrix_rate * share)
        if step % 50 == 49 or step + 1 == steps:
            spent = time.monotonic() - started
            print(f"{name}: step {step + 1}/{steps}, loss {found.item():.2f}, {spent:.0f} s", flush=True)


def _is_inner(label: str, parameter: Any) -> bool:
    """Whether a parameter is a matrix between states. Adam trains the others: embeddings, output layers and norms."""
    return parameter.ndim == 2 and not any(word in label for word in ("embed_tokens", "lm_head"))
