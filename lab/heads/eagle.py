"""Heads that guess one token after the other, each from the state before: EAGLE, EAGLE-3, and MTP in MiMo's layout."""

from typing import Any

import torch  # type: ignore[import-not-found]
from hack.models.recipe import LlamaShape
from torch import nn

from lab.heads.layers import Attention, Head, Mlp, Norm, causal
from lab.heads.lesson import Lesson, right

_STATE_WEIGHT = 0.5
EAGLE3_LAYERS = (1, 2, 3)
"""Layers of the target whose inputs are read. The engine's own choice needs a target of six layers or more."""
_PROJECTIONS = ("q_proj", "k_proj", "v_proj")


class _EagleLayer(nn.Module):  # type: ignore[misc]
    """The first layer of an EAGLE head has no norm of its own input."""

    def __init__(self, shape: LlamaShape) -> None:
        super().__init__()
        self.self_attn = Attention(shape, shape.hidden)
        self.mlp = Mlp(shape)
        self.post_attention_layernorm = Norm(shape.hidden)


class Eagle(Head):
    """Guesses from the target's last hidden state and the token that was sampled from it: one layer over both, joined.

    Position t has the state of t and the token of t + 1, and predicts the token of t + 2 by the target's output layer.
    """

    def __init__(self, shape: LlamaShape, target: Any) -> None:
        super().__init__()
        self.fc = nn.Linear(2 * shape.hidden, shape.hidden, bias=False)
        self.layers = nn.ModuleList([_EagleLayer(shape)])
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
        """Predict the target's token and its state: once from the target's states, once from the head's own."""
        tokens, truth = lesson.tokens[:, 1:], lesson.states[-1]
        said, states, total = lesson.said[:, 1:], truth[:, :-1], 0.0
        for _ in range(2):
            guessed = self(tokens, states)
            total += right(guessed @ self._say.T, said)
            total += _STATE_WEIGHT * nn.functional.smooth_l1_loss(guessed, truth[:, 1:])
            states = torch.cat([states[:, :1], guessed[:, :-1]], 1)
        return total


class _Eagle3Layer(nn.Module):  # type: ignore[misc]
    """Its attention reads the embedding and the state side by side."""

    def __init__(self, shape: LlamaShape) -> None:
        super().__init__()
        self.self_attn = Attention(shape, 2 * shape.hidden)
        self.mlp = Mlp(shape)
        self.input_layernorm = Norm(shape.hidden)
        self.hidden_norm = Norm(shape.hidden)
        self.post_attention_layernorm = Norm(shape.hidden)


class Eagle3(nn.Module):  # type: ignore[misc]
    """Guesses from states of three layers of the target.

    One layer, and an output layer of its own over fewer tokens: those in `kept`, sorted ids.
    """

    def __init__(self, shape: LlamaShape, target: Any, kept: Any) -> None:
        super().__init__()
        self.fc = nn.Linear(len(EAGLE3_LAYERS) * shape.hidden, shape.hidden, bias=False)
        self.midlayer = _Eagle3Layer(shape)
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
        """Predict the target's token if it is a kept one: from the target's states, then from the head's own."""
        tokens, said = lesson.tokens[:, 1:], self._index[lesson.said[:, 1:]]
        states = self.fc(torch.cat([lesson.states[i] for i in EAGLE3_LAYERS], -1))[:, :-1]
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


class Mimo(nn.Module):  # type: ignore[misc]
    """One layer inside the target that reads its state before its last norm, and the embedding of the next token.

    In MiMo's layout: the easiest family for a target that is a Llama. MiMo is Qwen2 by its layers, a Llama with
    biases, which are zero here.
    """

    def __init__(self, shape: LlamaShape, target: Any) -> None:
        super().__init__()
        self.token_layernorm, self.hidden_layernorm = Norm(shape.hidden), Norm(shape.hidden)
        self.input_proj = nn.Linear(2 * shape.hidden, shape.hidden, bias=False)
        self.input_layernorm, self.post_attention_layernorm = Norm(shape.hidden), Norm(shape.hidden)
        self.self_attn = Attention(shape, shape.hidden, bias=True)
        self.mlp = Mlp(shape)
        self.final_layernorm = Norm(shape.hidden)
        self._target = (target,)  # in a tuple, so that it does not become part of the head

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
        """Predict the target's token: from the target's states, then from the layer's own."""
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
