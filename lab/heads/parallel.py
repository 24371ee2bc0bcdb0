"""Heads that guess several tokens at once: Medusa, DFlash, and PARD."""

from typing import Any

import torch  # type: ignore[import-not-found]
from hack.models.recipe import LlamaShape
from torch import nn

from lab.heads.layers import Attention, Head, Mlp, Norm, anchors, block_mask, causal
from lab.heads.lesson import Lesson, right

DFLASH_LAYERS = (0, 1, 2)
"""Layers of the target whose outputs are read, counted from zero."""
PLACEHOLDER = 2
"""The token that stands for what is to be guessed: the padding of the tiny vocabulary, which no text has."""
TOKENS = 4
HEADS = 4


class _Block(nn.Module):  # type: ignore[misc]
    """One residual layer."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(size, size, bias=False)])

    def forward(self, x: Any) -> Any:
        """Return x, changed a little."""
        return x + nn.functional.silu(self.layers[0](x))


class Medusa(Head):
    """One small head for each place after the next, all from the same state of the target.

    HEADS blocks, each with an output layer that begins as the target's.
    """

    def __init__(self, shape: LlamaShape, target: Any) -> None:
        super().__init__()
        say = target.lm_head.weight.detach()
        self.blocks = nn.ModuleList([_Block(shape.hidden) for _ in range(HEADS)])
        self.lm_heads = nn.ModuleList([nn.Linear(shape.hidden, len(say), bias=False) for _ in range(HEADS)])
        for head in self.lm_heads:
            head.weight.data.copy_(say)

    def loss(self, lesson: Lesson) -> Any:
        """Head i at position t predicts the target's token i + 1 places later."""
        states, total = lesson.states[-1], 0.0
        for i, (block, head) in enumerate(zip(self.blocks, self.lm_heads, strict=True), 1):
            total += right(head(block(states[:, :-i])), lesson.said[:, i:])
        return total


class _DflashLayer(nn.Module):  # type: ignore[misc]
    """A Qwen3 layer whose keys and values of the context are made of the target's states."""

    def __init__(self, shape: LlamaShape) -> None:
        super().__init__()
        self.self_attn = Attention(shape, shape.hidden, norms=True)
        self.mlp = Mlp(shape)
        self.input_layernorm, self.post_attention_layernorm = Norm(shape.hidden), Norm(shape.hidden)


class Dflash(Head):
    """Fills in a block of masked tokens at once, each seeing the target's states and the whole block.

    One layer; embedding and output layer are the target's.
    """

    def __init__(self, shape: LlamaShape, target: Any) -> None:
        super().__init__()
        self.fc = nn.Linear(len(DFLASH_LAYERS) * shape.hidden, shape.hidden, bias=False)
        self.hidden_norm, self.norm = Norm(shape.hidden), Norm(shape.hidden)
        self.layers = nn.ModuleList([_DflashLayer(shape)])
        self._embed, self._say = target.model.embed_tokens.weight.detach(), target.lm_head.weight.detach()

    def forward(self, tokens: Any, positions: Any, context: Any, mask: Any) -> Any:
        """Return the states of a row of blocks. context: the target's states, [rows, length, hidden of the layers]."""
        rows, length, _ = context.shape
        states, places = self.hidden_norm(self.fc(context)), torch.arange(length).expand(rows, -1)
        layer: Any = self.layers[0]
        x = self._embed[tokens]
        x = x + layer.self_attn(layer.input_layernorm(x), positions, mask, (states, places))
        return self.norm(x + layer.mlp(layer.post_attention_layernorm(x)))

    def loss(self, lesson: Lesson) -> Any:
        """Blocks at several places: the token that is known, and TOKENS masks that each predict their own token."""
        rows, length = lesson.tokens.shape
        first = anchors(rows, length, TOKENS + 1)
        places = first[..., None] + 1 + torch.arange(TOKENS + 1)
        tokens = torch.full_like(places, PLACEHOLDER)
        tokens[..., 0] = lesson.tokens.gather(1, first + 1)
        context = torch.cat([lesson.states[i + 1] for i in DFLASH_LAYERS], -1)
        guessed = self(tokens.flatten(1), places.flatten(1), context, block_mask(first, length, TOKENS + 1))
        guessed = guessed.unflatten(1, places.shape[1:])[:, :, 1:]
        said = lesson.said.gather(1, (places[..., 1:] - 1).flatten(1)).unflatten(1, (-1, TOKENS))
        return right(guessed @ self._say.T, said)


class Pard(nn.Module):  # type: ignore[misc]
    """The trained draft, taught to go on from placeholders, so that all tokens are guessed in one step.

    A whole language model; the text is learnt as ever, and blocks of placeholders beside it.
    """

    def __init__(self, draft: Any) -> None:
        super().__init__()
        self.draft = draft

    def loss(self, lesson: Lesson) -> Any:
        """A place of the text predicts the next token, and each placeholder after it predicts one more."""
        rows, length = lesson.tokens.shape
        size = TOKENS - 1
        first = anchors(rows, length, TOKENS)
        places = first[..., None] + 1 + torch.arange(size)
        text = torch.cat([causal(rows, length), torch.zeros(rows, length, first.shape[1] * size, dtype=torch.bool)], -1)
        seen = torch.cat([text, block_mask(first, length, size, causal=True)], 1)
        blank = torch.full((rows, first.shape[1] * size), PLACEHOLDER)
        logits = self.draft(
            input_ids=torch.cat([lesson.tokens, blank], 1),
            position_ids=torch.cat([torch.arange(length).expand(rows, -1), places.flatten(1)], 1),
            attention_mask=torch.where(seen, 0.0, torch.finfo(torch.float32).min)[:, None],
        ).logits
        said = torch.cat([lesson.said, lesson.said.gather(1, places.flatten(1))], 1)
        return right(logits, said)

    def tensors(self) -> dict[str, Any]:
        """The draft's own names."""
        return dict(self.draft.state_dict())
