"""The texts of the pair: the standard library's own source for code, invented chains for drift."""

from __future__ import annotations

import random
import sysconfig
from pathlib import Path

from hack.models import drift

_SKIPPED = {"site-packages", "dist-packages", "test", "tests", "idlelib", "lib2to3", "turtledemo", "encodings"}
_PROMPT_LINES = 6


def code_files(limit_bytes: int = 8_000_000) -> list[str]:
    """Return sources of the standard library in a fixed order, up to a size."""
    root = Path(sysconfig.get_paths()["stdlib"])
    texts: list[str] = []
    size = 0
    for path in sorted(root.rglob("*.py")):
        if _SKIPPED.isdisjoint(path.relative_to(root).parts) and size < limit_bytes:
            texts.append(path.read_text(encoding="utf-8", errors="ignore"))
            size += len(texts[-1])
    return texts


def drift_texts(seed: int) -> list[str]:
    """Return one long sentence from every place of the drift language."""
    return [drift.sentence(seed, start, 120) for start in range(drift.LENGTH)]


def prompts(seed: int, count: int, files: list[str]) -> dict[str, list[str]]:
    """Return the two classes of prompts: beginnings of functions, and chains to go on with."""
    dice = random.Random(f"prompts-{seed}")  # noqa: S311 (a choice of texts, not a secret)
    code: list[str] = []
    while len(code) < count:
        lines = dice.choice(files).splitlines(keepends=True)
        starts = [i for i, line in enumerate(lines) if line.lstrip().startswith("def ")]
        if starts:
            first = dice.choice(starts)
            code.append("".join(lines[first : first + _PROMPT_LINES])[:400])
    starts = dice.sample(range(drift.LENGTH), count)
    return {"code": code, "drift": [drift.sentence(seed, start, 24) for start in starts]}
