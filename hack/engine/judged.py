"""What the guard decides on recorded metrics, by its own code, with the thresholds of the demo."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from specdec_operator.api.guard import Guard
from specdec_operator.api.speculation import Method
from specdec_operator.engine.methods import METHODS
from specdec_operator.replay.play import play
from specdec_operator.replay.recording import read_recording

if TYPE_CHECKING:
    from pathlib import Path

GUARD: Final = {"interval": "1s", "window": "6s", "warmup": "1s", "failureLimit": 2, "minDraftTokens": 200}


def decided(scrapes: list[dict[str, Any]], method: str, folder: Path) -> dict[str, Any]:
    """Play recorded scrapes; return the last window's verdict, and the rollback's words where there is one."""
    trace = folder / "trace.jsonl"
    trace.write_text("".join(json.dumps(each) + "\n" for each in scrapes), encoding="utf-8")
    played = play(read_recording(trace), Guard.model_validate(GUARD), METHODS[Method(method)])
    rollback = played.state.rollback
    verdicts = [each.judged.verdict for each in played.decisions]
    last = verdicts[-1] if verdicts else None
    return {
        "reason": rollback.reason if rollback else None,
        "message": rollback.message if rollback else (last.message if last else "no window closed"),
        "windows": len(verdicts),
    }
