"""Medusa: one small head for each place after the next, all from the same state of the target."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch import nn  # type: ignore[import-not-found]

from hack.models.heads.lesson import right

if TYPE_CHECKING:
    from hack.models.heads.lesson import Lesson
    from hack.models.recipe import Shape

HEADS = 4


class Block(nn.Module):  # type: ignore[misc]
    """One residual layer."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(size, size, bias=False)])

    def forward(self, x: Any) -> Any:
        """Return x, changed a little."""
        return x + nn.functional.silu(self.layers[0](x))


class Medusa(nn.Module):  # type: ignore[misc]
    """HEADS blocks, each with an output layer that begins as the target's."""

    def __init__(self, shape: Shape, target: Any) -> None:
        super().__init__()
        say = target.lm_head.weight.detach()
        self.blocks = nn.ModuleList([Block(shape.hidden) for _ in range(HEADS)])
        self.lm_heads = nn.ModuleList([nn.Linear(shape.hidden, len(say), bias=False) for _ in range(HEADS)])
        for head in self.lm_heads:
            head.weight.data.copy_(say)

    def loss(self, lesson: Lesson) -> Any:
        """Head i at position t says what the target says i + 1 places later."""
        states, total = lesson.states[-1], 0.0
        for i, (block, head) in enumerate(zip(self.blocks, self.lm_heads, strict=True), 1):
            total += right(head(block(states[:, :-i])), lesson.said[:, i:])
        return total

    def tensors(self) -> dict[str, Any]:
        """Under vLLM's names."""
        return dict(self.state_dict())
