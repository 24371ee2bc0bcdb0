"""The parts of a decoder layer under the names that checkpoints have, so that a trained head is saved as it is; and
blocks of tokens that are guessed at once, several of them beside one text, each blind for the others.
"""

from typing import Any

import torch  # type: ignore[import-not-found]
from hack.models.recipe import LlamaShape
from torch import nn

_THETA = 10000.0
_EPSILON = 1e-6
COUNT = 12
"""Blocks beside each text of a batch."""


class Head(nn.Module):  # type: ignore[misc]
    """A head whose parts have the names that vLLM and published heads give them."""

    def tensors(self) -> dict[str, Any]:
        """What is saved; embedding and output layer are the target's."""
        return dict(self.state_dict())


class Norm(nn.Module):  # type: ignore[misc]
    """Root mean square norm."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))

    def forward(self, x: Any) -> Any:
        """Return x with the size of one, times the learnt weight."""
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + _EPSILON) * self.weight


class Attention(nn.Module):  # type: ignore[misc]
    """Attention with rotary positions. Keys may come of more than the queries: `context` is put before them."""

    def __init__(self, shape: LlamaShape, width: int, *, bias: bool = False, norms: bool = False) -> None:
        super().__init__()
        self.heads, self.size = shape.heads, shape.hidden // shape.heads
        self.q_proj = nn.Linear(width, shape.hidden, bias=bias)
        self.k_proj = nn.Linear(width, shape.hidden, bias=bias)
        self.v_proj = nn.Linear(width, shape.hidden, bias=bias)
        self.o_proj = nn.Linear(shape.hidden, shape.hidden, bias=False)
        if norms:
            self.q_norm, self.k_norm = Norm(self.size), Norm(self.size)
        self.norms = norms

    def forward(self, x: Any, positions: Any, mask: Any, context: tuple[Any, Any] | None = None) -> Any:
        """Attend. x: [rows, queries, width]; positions: [rows, queries]; mask: [rows, queries, keys], true where seen.

        context: states and positions whose keys and values come first.
        """
        keys, places = (x, positions) if context is None else _joined(context, x, positions)
        q = self._turned(self.q_proj(x), "q_norm", positions)
        k = self._turned(self.k_proj(keys), "k_norm", places)
        v = self._split(self.v_proj(keys)).transpose(1, 2)
        seen = nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask[:, None])
        return self.o_proj(seen.transpose(1, 2).flatten(2))

    def _split(self, x: Any) -> Any:
        return x.unflatten(-1, (self.heads, self.size))

    def _turned(self, x: Any, norm: str, positions: Any) -> Any:
        split = self._split(x)
        return rotated(getattr(self, norm)(split) if self.norms else split, positions).transpose(1, 2)


class Mlp(nn.Module):  # type: ignore[misc]
    """The gated feed-forward part."""

    def __init__(self, shape: LlamaShape) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(shape.hidden, shape.intermediate, bias=False)
        self.up_proj = nn.Linear(shape.hidden, shape.intermediate, bias=False)
        self.down_proj = nn.Linear(shape.intermediate, shape.hidden, bias=False)

    def forward(self, x: Any) -> Any:
        """Return what is added to x."""
        return self.down_proj(nn.functional.silu(self.gate_proj(x)) * self.up_proj(x))


def rotated(x: Any, positions: Any) -> Any:
    """Turn each half pair of a head by its position, as Llama does. x: [rows, length, heads, size]."""
    half = x.shape[-1] // 2
    speed = _THETA ** (-torch.arange(half) / half)
    angle = (positions[..., None] * speed)[:, :, None]
    first, second = x[..., :half], x[..., half:]
    return torch.cat([first * angle.cos() - second * angle.sin(), second * angle.cos() + first * angle.sin()], -1)


def causal(rows: int, length: int) -> Any:
    """Each position sees itself and all before it."""
    return torch.ones(length, length, dtype=torch.bool).tril().expand(rows, -1, -1)


def _joined(context: tuple[Any, Any], x: Any, positions: Any) -> tuple[Any, Any]:
    states, places = context
    return torch.cat([states, x], 1), torch.cat([places, positions], 1)


def anchors(rows: int, length: int, size: int) -> Any:
    """Draw where blocks begin: the last known position each, so that a block of `size` fits in; [rows, COUNT]."""
    return torch.randint(0, length - size, (rows, COUNT))


def block_mask(first: Any, length: int, size: int, *, causal: bool = False) -> Any:
    """What the tokens of blocks see: the text up to their anchor, and their own block (or what is before in it).

    Returns [rows, COUNT * size, length + COUNT * size], true where seen.
    """
    rows, count = first.shape
    text = torch.arange(length) <= first[..., None, None].expand(rows, count, size, 1)
    block = torch.ones(size, size, dtype=torch.bool)
    own = torch.block_diag(*[block.tril() if causal else block] * count).bool()
    return torch.cat([text.flatten(1, 2), own.expand(rows, -1, -1)], -1)
