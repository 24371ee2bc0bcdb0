"""How often the rules foretell the verdict of an engine's own configuration code, counted over a file of verdicts."""

import gzip
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from lab.verdicts.judge import judge

_SHOWN: Final = 5
_LONGEST: Final = 200


def lines(path: Path) -> Iterator[dict[str, Any]]:
    """The recordings of a file, plain or compressed. Raises ValueError for a line that is not JSON."""
    data = path.read_bytes()
    text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode("utf-8")
    yield from (json.loads(line) for line in text.splitlines() if line.strip())


def agreement(path: Path, kinds: Mapping[str, Any], *, shown: int = _SHOWN) -> dict[str, Any]:
    """Counts over one file, without the cases that failed because of the recording machine (`platform_specific`).

    false_refusals: the engine accepts, and a rule predicts that it does not. stricter: the engine accepts, and a rule
    predicts that it does but that the result cannot work; no difference. accepted: the engine refuses, no rule does.
    """
    judged = [(line, judge(line, kinds)) for line in lines(path) if not line.get("platform_specific")]
    wrong = [(line, said) for line, said in judged if bool(line["ok"]) != said["engine_ok"]]
    return {
        "file": path.name,
        "cases": len(judged),
        "agree": len(judged) - len(wrong),
        "share": round(1 - len(wrong) / max(1, len(judged)), 4),
        "false_refusals": sum(bool(line["ok"]) for line, _ in wrong),
        "accepted": sum(not line["ok"] for line, _ in wrong),
        "stricter": sum(bool(line["ok"]) and said["engine_ok"] and not said["ok"] for line, said in judged),
        "first_differences": [_difference(line, said) for line, said in wrong[:shown]],
    }


def _difference(line: Mapping[str, Any], said: Mapping[str, Any]) -> dict[str, Any]:
    """Both words on a case."""
    return {
        "id": line.get("id"),
        "engine": "accepts" if line["ok"] else str(line.get("error") or "refuses")[:_LONGEST],
        "rules": said["rules"],
    }
