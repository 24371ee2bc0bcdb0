"""EAGLE: guesses from the target's last hidden state and the token that was sampled from it.

Position t has the state of t and the token of t + 1, and says the token of t + 2 by the target's own output layer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch  # type: ignore[import-not-found]
from torch import nn

from hack.models.heads.layers import Attention, Mlp, Norm, causal
from hack.models.heads.lesson import right

if TYPE_CHECKING:
    from hack.models.heads.lesson import Lesson
    from hack.models.recipe import Shape

_STATE_WEIGHT = 0.5


class Layer(nn.Module):  # type: ignore[misc]
    """The first layer of an EAGLE head has no norm of its own input."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.self_attn = Attention(shape, shape.hidden)
        self.mlp = Mlp(shape)
        self.post_attention_layernorm = Norm(shape.hidden)


class Eagle(nn.Module):  # type: ignore[misc]
    """One decoder layer over the joined embedding and state."""

    def __init__(self, shape: Shape, target: Any) -> None:
        super().__init__()
        self.fc = nn.Linear(2 * shape.hidden, shape.hidden, bias=False)
        self.layers = nn.ModuleList([Layer(shape)])
        self._embed, self._say = target.model.embed_tokens.weight.detach(), target.lm_head.weight.detach()

    def forward(self, tokens: Any, states: Any) -> Any:
        """Return the guessed states. tokens: of the next position each, [rows, length]."""
        rows, length = tokens.shape
        positions = torch.arange(length).expand(rows, -1)
        x = self.fc(torch.cat([self._embed[tokens], states], -1))
        layer: Any = self.layers[0]
        x = x + layer.self_attn(x, positions, causal(rows, length))
        return x + layer.mlp(layer.post_attention_layernorm(x))

    def loss(self, lesson: Lesson) -> Any:
        """Say what the target says, and guess its state; once from its states, once from the head's own."""
        tokens, truth = lesson.tokens[:, 1:], lesson.states[-1]
        said, states, total = lesson.said[:, 1:], truth[:, :-1], 0.0
        for _ in range(2):
            guessed = self(tokens, states)
            total += right(guessed @ self._say.T, said)
            total += _STATE_WEIGHT * nn.functional.smooth_l1_loss(guessed, truth[:, 1:])
            states = torch.cat([states[:, :1], guessed[:, :-1]], 1)
        return total

    def tensors(self) -> dict[str, Any]:
        """Under the names of published EAGLE heads; embedding and output layer are the target's."""
        return dict(self.state_dict())
