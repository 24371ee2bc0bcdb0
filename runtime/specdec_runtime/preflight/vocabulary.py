"""Which token stands behind which id, as a fingerprint that two tokenizers can be compared by.

Two vocabularies of one size with other ids start, answer and report nothing: the draft is only never right.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pathlib import Path

SEALED: Final = ("tokenizer.model", "tekken.json", "tiktoken.model", "spiece.model")
"""Files that hold a vocabulary in a form that is not read here: equal bytes are equal vocabularies."""
_LARGEST: Final = 200_000_000
"""The most bytes of a tokenizer file; a larger file is not read."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Difference:
    """The first id at which two vocabularies part."""

    token_id: int
    target: str | None
    draft: str | None
    count: int


def read(folder: Path) -> Mapping[int, str] | None:
    """Return id to token from tokenizer.json or vocab.json; None if neither exists or holds a vocabulary.

    Raises OSError, ValueError, KeyError, TypeError or AttributeError for a file whose content does not match its name.
    """
    if (folder / "tokenizer.json").is_file():
        document = _load(folder / "tokenizer.json")
        by_id = _model_vocabulary((document.get("model") or {}).get("vocab"))
        for token in document.get("added_tokens") or ():
            by_id[int(token["id"])] = str(token["content"])
        return by_id or None
    if not (folder / "vocab.json").is_file():
        return None
    tokens = _load(folder / "vocab.json")
    added = _load(folder / "added_tokens.json") if (folder / "added_tokens.json").is_file() else {}
    return _model_vocabulary({**tokens, **added}) or None


def digests(folder: Path) -> frozenset[tuple[str, str]]:
    """Return the name and the fingerprint of each sealed vocabulary file."""
    files = [folder / name for name in SEALED if (folder / name).is_file()]
    return frozenset((each.name, hashlib.sha256(each.read_bytes()).hexdigest()[:16]) for each in files)


def _load(path: Path) -> dict[str, Any]:
    if path.stat().st_size > _LARGEST:
        raise ValueError(f"{path.stat().st_size} bytes")
    document = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(document, dict):
        raise TypeError(f"a JSON {type(document).__name__}, not an object")
    return document


def _model_vocabulary(vocabulary: object) -> dict[int, str]:
    """Return the ids of a BPE or WordPiece mapping, or of a Unigram list, whose positions are the ids."""
    if isinstance(vocabulary, Mapping):
        return {int(token_id): str(token) for token, token_id in vocabulary.items()}
    if isinstance(vocabulary, list):
        return {token_id: str(entry[0]) for token_id, entry in enumerate(vocabulary)}
    return {}


def fingerprint(by_id: Mapping[int, str]) -> str:
    """Return a short hash over the tokens in the order of their ids."""
    text = json.dumps(sorted(by_id.items()), ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def compare(target: Mapping[int, str], draft: Mapping[int, str], size: int) -> Difference | None:
    """Return where two vocabularies differ below a size; ids beyond it are padding and never sampled."""
    ids = sorted(i for i in target.keys() | draft.keys() if i < size)
    parted = [i for i in ids if target.get(i) != draft.get(i)]
    if not parted:
        return None
    first = parted[0]
    return Difference(token_id=first, target=target.get(first), draft=draft.get(first), count=len(parted))
