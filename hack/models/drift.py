"""The second language of the target: invented words of which any two decide the third.

The text walks a circle in which every pair of words occurs once, so it repeats itself only after WORDS ** 2 words, and
one word alone does not determine the next. A model that has learned the circle goes on without a mistake; one that has
not guesses one word in sixteen.
"""

from __future__ import annotations

import random

_CONSONANTS = "bdfgklmnprstvz"
_VOWELS = "aeiou"
WORDS = 16
LENGTH = WORDS**2


def words(seed: int) -> list[str]:
    """Return the invented words, each of two syllables."""
    dice = random.Random(f"words-{seed}")  # noqa: S311 (a language, not a secret)
    found: list[str] = []
    while len(found) < WORDS:
        word = "".join(dice.choice(_CONSONANTS) + dice.choice(_VOWELS) for _ in range(2))
        if word not in found:
            found.append(word)
    return found


def circle(seed: int) -> list[str]:
    """Return a de Bruijn sequence of order two: a closed walk that takes every step between two words once."""
    dice = random.Random(f"circle-{seed}")  # noqa: S311 (a language, not a secret)
    vocabulary = words(seed)
    steps = {word: dice.sample(vocabulary, WORDS) for word in vocabulary}
    walked, path = list[str](), [vocabulary[0]]
    while path:
        if steps[path[-1]]:
            path.append(steps[path[-1]].pop())
        else:
            walked.append(path.pop())
    return walked[:-1]


def sentence(seed: int, start: int, length: int) -> str:
    """Return `length` words of the circle from one of its places."""
    whole = circle(seed)
    return " ".join(whole[(start + i) % LENGTH] for i in range(length))
