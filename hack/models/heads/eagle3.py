"""EAGLE-3: guesses from states of three layers of the target, with an output layer of its own over fewer tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch  # type: ignore[import-not-found]
from torch import nn

from hack.models.heads.layers import Attention, Mlp, Norm, causal
from hack.models.heads.lesson import right

if TYPE_CHECKING:
    from hack.models.heads.lesson import Lesson
    from hack.models.recipe import Shape

LAYERS = (1, 2, 3)
"""Layers of the target whose inputs are read. The engine's own choice needs a target of six layers or more."""


class Layer(nn.Module):  # type: ignore[misc]
    """Its attention reads the embedding and the state side by side."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.self_attn = Attention(shape, 2 * shape.hidden)
        self.mlp = Mlp(shape)
        self.input_layernorm = Norm(shape.hidden)
        self.hidden_norm = Norm(shape.hidden)
        self.post_attention_layernorm = Norm(shape.hidden)


class Eagle3(nn.Module):  # type: ignore[misc]
    """One layer, and an output layer over the tokens in `kept`, sorted ids."""

    def __init__(self, shape: Shape, target: Any, kept: Any) -> None:
        super().__init__()
        self.fc = nn.Linear(len(LAYERS) * shape.hidden, shape.hidden, bias=False)
        self.midlayer = Layer(shape)
        self.norm = Norm(shape.hidden)
        self.lm_head = nn.Linear(shape.hidden, len(kept), bias=False)
        self._embed = target.model.embed_tokens.weight.detach()
        self._kept = kept
        self._index = torch.full((len(self._embed),), -100).scatter(0, kept, torch.arange(len(kept)))

    def forward(self, tokens: Any, states: Any) -> Any:
        """Return the guessed states, before the last norm."""
        rows, length = tokens.shape
        positions = torch.arange(length).expand(rows, -1)
        layer: Any = self.midlayer
        both = torch.cat([layer.input_layernorm(self._embed[tokens]), layer.hidden_norm(states)], -1)
        x = states + layer.self_attn(both, positions, causal(rows, length))
        return x + layer.mlp(layer.post_attention_layernorm(x))

    def loss(self, lesson: Lesson) -> Any:
        """Say what the target says, where it is among the kept tokens; from its states, then from the head's own."""
        tokens, said = lesson.tokens[:, 1:], self._index[lesson.said[:, 1:]]
        states = self.fc(torch.cat([lesson.states[i] for i in LAYERS], -1))[:, :-1]
        total = 0.0
        for _ in range(2):
            guessed = self(tokens, states)
            total += right(self.lm_head(self.norm(guessed)), said)
            states = torch.cat([states[:, :1], guessed[:, :-1]], 1)
        return total

    def tensors(self) -> dict[str, Any]:
        """Under the names of published EAGLE-3 heads; d2t is what is added to an id of the head to get the target's."""
        known = torch.zeros(len(self._embed), dtype=torch.bool)
        known[self._kept] = True
        return {**self.state_dict(), "d2t": self._kept - torch.arange(len(self._kept)), "t2d": known}
