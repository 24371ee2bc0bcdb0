"""PARD: the trained draft, taught to go on from placeholders, so that all tokens are guessed in one step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch  # type: ignore[import-not-found]
from torch import nn

from hack.models.heads.blocks import anchors, block_mask
from hack.models.heads.layers import causal
from hack.models.heads.lesson import right

if TYPE_CHECKING:
    from hack.models.heads.lesson import Lesson

PLACEHOLDER = 2
"""The token for what is not known yet: the padding of the tiny vocabulary."""
TOKENS = 4


class Pard(nn.Module):  # type: ignore[misc]
    """A whole language model; the text is learnt as ever, and blocks of placeholders beside it."""

    def __init__(self, draft: Any) -> None:
        super().__init__()
        self.draft = draft

    def loss(self, lesson: Lesson) -> Any:
        """At a place of the text the next token is said, and at each placeholder after it one more."""
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
