"""Blocks of tokens that are guessed at once, several of them beside one text, each blind for the others."""

from __future__ import annotations

from typing import Any

import torch  # type: ignore[import-not-found]

COUNT = 12
"""Blocks beside each text of a batch."""


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
