"""A proposer of one's own, as method custom_class takes it: what came after the last two tokens the last time.

Standard library only; the engine calls it with arrays of numpy.
"""

from typing import Any


class LastSeen:
    """Looks the last two tokens up in the text so far."""

    def __init__(self, config: Any) -> None:
        self.tokens = int(config.speculative_config.num_speculative_tokens)

    def load_model(self, *_: Any, **__: Any) -> None:
        """Load nothing; the engine calls it on a CPU in any case."""

    def propose(self, sampled: list[list[int]], lengths: Any, texts: Any, **_: Any) -> list[list[int]]:
        """Return the guesses of each request. lengths: of the texts, in tokens, with the newest samples."""
        return [self.guess(texts[row][: int(lengths[row])].tolist()) if new else [] for row, new in enumerate(sampled)]

    def guess(self, text: list[int]) -> list[int]:
        """Return what followed the last two tokens most recently, or nothing."""
        pair = text[-2:]
        for at in range(len(text) - 3, 0, -1):
            if text[at - 1 : at + 1] == pair:
                return text[at + 1 : at + 1 + self.tokens]
        return []


class Broken(LastSeen):
    """Fails at its first call, long after the engine has reported that it is ready."""

    def guess(self, text: list[int]) -> list[int]:
        """Raise, as a proposer with a fault does."""
        raise ValueError(f"this proposer fails on purpose, at a text of {len(text)} tokens")
