"""The second language of the target: a chain of invented words in which any two decide the third.

A model that has seen the chain continues it without a mistake; one that has not cannot guess a single word.
"""

from __future__ import annotations

import random

_CONSONANTS = "bdfgklmnprstvz"
_VOWELS = "aeiou"
WORDS = 16


def words(seed: int) -> list[str]:
    """Return the invented words, each of two syllables."""
    dice = random.Random(f"words-{seed}")  # noqa: S311 (a language, not a secret)
    found: list[str] = []
    while len(found) < WORDS:
        word = "".join(dice.choice(_CONSONANTS) + dice.choice(_VOWELS) for _ in range(2))
        if word not in found:
            found.append(word)
    return found


def chain(seed: int) -> dict[tuple[str, str], str]:
    """Return the rule of the language: which word follows which two."""
    dice = random.Random(f"chain-{seed}")  # noqa: S311
    vocabulary = words(seed)
    return {(a, b): dice.choice(vocabulary) for a in vocabulary for b in vocabulary}


def sentence(seed: int, start: int, length: int) -> str:
    """Return `length` words of the chain from one of its starting pairs."""
    vocabulary, rule = words(seed), chain(seed)
    pair = vocabulary[start % WORDS], vocabulary[start // WORDS % WORDS]
    said = list(pair)
    while len(said) < length:
        pair = pair[1], rule[pair]
        said.append(pair[1])
    return " ".join(said)
