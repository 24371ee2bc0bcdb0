"""Multi-token prediction inside the target, in MiMo's layout: the easiest family for a target that is a Llama.

MiMo is Qwen2 by its layers: a Llama with biases, which are zero here.
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

_PROJECTIONS = ("q_proj", "k_proj", "v_proj")


class Mimo(nn.Module):  # type: ignore[misc]
    """One layer that reads the target's state before its last norm, and the embedding of the next token."""

    def __init__(self, shape: Shape, target: Any) -> None:
        super().__init__()
        self.token_layernorm, self.hidden_layernorm = Norm(shape.hidden), Norm(shape.hidden)
        self.input_proj = nn.Linear(2 * shape.hidden, shape.hidden, bias=False)
        self.input_layernorm, self.post_attention_layernorm = Norm(shape.hidden), Norm(shape.hidden)
        self.self_attn = Attention(shape, shape.hidden, bias=True)
        self.mlp = Mlp(shape)
        self.final_layernorm = Norm(shape.hidden)
        self._target = (target,)  # in a tuple, so that it is no part of the head

    def forward(self, tokens: Any, states: Any) -> Any:
        """Return the guessed states."""
        rows, length = tokens.shape
        positions = torch.arange(length).expand(rows, -1)
        embedded = self._target[0].model.embed_tokens.weight.detach()[tokens]
        embedded = torch.where(positions[..., None] == 0, 0.0, embedded)
        x = self.input_proj(torch.cat([self.hidden_layernorm(states), self.token_layernorm(embedded)], -1))
        x = x + self.self_attn(self.input_layernorm(x), positions, causal(rows, length))
        return self.final_layernorm(x + self.mlp(self.post_attention_layernorm(x)))

    def loss(self, lesson: Lesson) -> Any:
        """Say what the target says; from its states, then from the layer's own."""
        tokens, said, states = lesson.tokens[:, 1:], lesson.said[:, 1:], lesson.bare[:, :-1]
        say, total = self._target[0].lm_head.weight.detach(), 0.0
        for _ in range(2):
            guessed = self(tokens, states)
            total += right(guessed @ say.T, said)
            states = torch.cat([states[:, :1], guessed[:, :-1]], 1)
        return total

    def tensors(self) -> dict[str, Any]:
        """The whole target with its new layer, under MiMo's names."""
        target = self._target[0].state_dict()
        width = target["model.layers.0.self_attn.q_proj.weight"].shape[0]
        attention = {name.rpartition(".")[0] for name in target if name.endswith(".q_proj.weight")}
        biases = {
            f"{place[: -len('.q_proj')]}.{each}.bias": torch.zeros(width)
            for place in attention
            for each in _PROJECTIONS
        }
        own = {f"model.mtp_layers.0.{name}": value for name, value in self.state_dict().items()}
        return {**target, **biases, **own}
