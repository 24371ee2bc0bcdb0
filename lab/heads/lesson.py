"""What every head learns from: windows of code and of the target's output, with the target's states for them."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch  # type: ignore[import-not-found]
from hack.models.recipe import Recipe


@dataclass(frozen=True, kw_only=True, slots=True)
class Lesson:
    """One batch. tokens: [rows, length]; states: of the embedding and each layer, the last one normed, each [rows,
    length, hidden]; bare: the last layer's before the norm. `said`: the target's most likely next token, [rows,
    length].
    """

    tokens: Any
    states: tuple[Any, ...]
    bare: Any
    said: Any


class Teacher:
    """Draws windows and asks the target."""

    def __init__(self, target: Any, rows: Sequence[Any], recipe: Recipe, name: str) -> None:
        self.target = target.eval()
        self._rows = rows
        self._recipe = recipe
        self._dice = random.Random(f"{name}-{recipe.seed}")  # noqa: S311 (a draw of windows, not a secret)

    def lesson(self, step: int) -> Lesson:
        """Return the batch of a step."""
        size, length = self._recipe.batch, self._recipe.window
        picked = [self._rows[(step + i) % len(self._rows)] for i in range(size)]
        firsts = [self._dice.randrange(len(row) - length) for row in picked]
        tokens = torch.stack([row[at : at + length] for row, at in zip(picked, firsts, strict=True)])
        bare: list[Any] = []
        hook = self.target.model.norm.register_forward_pre_hook(lambda _, given: bare.append(given[0]))
        with torch.no_grad():
            answer = self.target(input_ids=tokens, output_hidden_states=True)
        hook.remove()
        return Lesson(tokens=tokens, states=answer.hidden_states, bare=bare[0], said=answer.logits.argmax(-1))


def right(logits: Any, wanted: Any) -> Any:
    """Cross entropy of predictions against token ids, over all positions."""
    return torch.nn.functional.cross_entropy(logits.flatten(0, -2), wanted.flatten())
