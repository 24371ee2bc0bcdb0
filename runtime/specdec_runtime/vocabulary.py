"""Which token stands behind which id, as a fingerprint that two tokenizers can be compared by.

Two vocabularies of one size with other ids start, answer and report nothing: the draft is only never right.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


@dataclass(frozen=True, kw_only=True, slots=True)
class Difference:
    """The first id at which two vocabularies part."""

    token_id: int
    target: str | None
    draft: str | None
    count: int


def read(folder: Path) -> Mapping[int, str] | None:
    """Return id to token from tokenizer.json, or None where there is none or it holds no vocabulary."""
    path = folder / "tokenizer.json"
    if not path.is_file():
        return None
    document = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(document, dict):
        return None
    by_id = _model_vocabulary((document.get("model") or {}).get("vocab"))
    for token in document.get("added_tokens") or ():
        by_id[token["id"]] = token["content"]
    return by_id or None


def _model_vocabulary(vocabulary: object) -> dict[int, str]:
    """Return the ids of a BPE or WordPiece mapping, or of a Unigram list, whose positions are the ids."""
    if isinstance(vocabulary, dict):
        return {token_id: token for token, token_id in vocabulary.items()}
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
