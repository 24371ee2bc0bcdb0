"""DFlash: fills in a block of masked tokens at once, each seeing the target's states and the whole block."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch  # type: ignore[import-not-found]
from torch import nn

from hack.models.heads.blocks import anchors, block_mask
from hack.models.heads.layers import Attention, Mlp, Norm
from hack.models.heads.lesson import right

if TYPE_CHECKING:
    from hack.models.heads.lesson import Lesson
    from hack.models.recipe import Shape

LAYERS = (0, 1, 2)
"""Layers of the target whose outputs are read, counted from zero."""
MASK = 2
"""The token that stands for what is to be guessed: the padding of the tiny vocabulary, which no text has."""
TOKENS = 4


class Layer(nn.Module):  # type: ignore[misc]
    """A Qwen3 layer whose keys and values of the context are made of the target's states."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.self_attn = Attention(shape, shape.hidden, norms=True)
        self.mlp = Mlp(shape)
        self.input_layernorm, self.post_attention_layernorm = Norm(shape.hidden), Norm(shape.hidden)


class Dflash(nn.Module):  # type: ignore[misc]
    """One layer; embedding and output layer are the target's."""

    def __init__(self, shape: Shape, target: Any) -> None:
        super().__init__()
        self.fc = nn.Linear(len(LAYERS) * shape.hidden, shape.hidden, bias=False)
        self.hidden_norm, self.norm = Norm(shape.hidden), Norm(shape.hidden)
        self.layers = nn.ModuleList([Layer(shape)])
        self._embed, self._say = target.model.embed_tokens.weight.detach(), target.lm_head.weight.detach()

    def forward(self, tokens: Any, positions: Any, context: Any, mask: Any) -> Any:
        """Return the states of a row of blocks. context: the target's states, [rows, length, hidden of LAYERS]."""
        rows, length, _ = context.shape
        states, places = self.hidden_norm(self.fc(context)), torch.arange(length).expand(rows, -1)
        layer: Any = self.layers[0]
        x = self._embed[tokens]
        x = x + layer.self_attn(layer.input_layernorm(x), positions, mask, (states, places))
        return self.norm(x + layer.mlp(layer.post_attention_layernorm(x)))

    def loss(self, lesson: Lesson) -> Any:
        """Blocks at several places: the token that is known, and TOKENS masks that each say their own token."""
        rows, length = lesson.tokens.shape
        first = anchors(rows, length, TOKENS + 1)
        places = first[..., None] + 1 + torch.arange(TOKENS + 1)
        tokens = torch.full_like(places, MASK)
        tokens[..., 0] = lesson.tokens.gather(1, first + 1)
        context = torch.cat([lesson.states[i + 1] for i in LAYERS], -1)
        guessed = self(tokens.flatten(1), places.flatten(1), context, block_mask(first, length, TOKENS + 1))
        guessed = guessed.unflatten(1, places.shape[1:])[:, :, 1:]
        said = lesson.said.gather(1, (places[..., 1:] - 1).flatten(1)).unflatten(1, (-1, TOKENS))
        return right(guessed @ self._say.T, said)

    def tensors(self) -> dict[str, Any]:
        """Under the names of published DFlash drafts."""
        return dict(self.state_dict())
