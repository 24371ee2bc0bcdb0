"""How a start is refused or an engine ends: one JSON line for the operator, one sentence for people, one exit code.

It never decides what is wrong; preflight, flags and engine do.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path

from specdec_engine.exit_codes import REFUSED

# The kubelet keeps the last 4096 bytes of the file; a longer line would reach the operator as broken JSON.
_LINE_LIMIT = 4095


@dataclass(frozen=True, kw_only=True, slots=True)
class Refusal:
    """A start that must not happen or an engine that ended, with everything that a user needs to change it.

    field: the flag that leads to the fault, empty where none is known. found: what was found instead, if the operator
    can plan with it.
    """

    reason: str
    field: str
    message: str
    found: str = ""

    def line(self) -> str:
        """Return the one JSON line that goes into the termination log."""
        message, cut = self.message, ""
        while True:
            answer = {"reason": self.reason, "field": self.field, "message": message + cut}
            answer |= {"found": self.found} if self.found else {}
            line = json.dumps(answer, ensure_ascii=False)
            excess = len(line.encode()) - _LINE_LIMIT
            if excess <= 0 or not message:
                return line
            # A character takes up to four bytes; cutting too little only costs another turn.
            message, cut = message[: -max(1, excess // 4)], "…"


class RefusedError(Exception):
    """Carries a refusal from where it is found to where it is reported."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.message)
        self.refusal = refusal


def report(refusal: Refusal) -> int:
    """Report a refused start to people and to the operator, and return the exit code."""
    log(refusal, "refused to start")
    return REFUSED


def log(refusal: Refusal, what: str = "ended") -> None:
    """Report how this container ends: one sentence for people, one JSON line in the termination log."""
    print(f"specdec: {what}: {refusal.reason}: {refusal.message}", file=sys.stderr, flush=True)
    path = termination_log()
    try:
        path.write_text(refusal.line() + "\n", encoding="utf-8")
    except OSError as error:
        # Outside a pod there is no termination log; the sentence above was printed in any case.
        print(f"specdec: {path} cannot be written: {error}", file=sys.stderr, flush=True)


def termination_log() -> Path:
    """Return the path of the termination message. If the pod sets terminationMessagePath, TERMINATION_LOG holds that
    path.
    """
    return Path(os.environ.get("TERMINATION_LOG", "/dev/termination-log"))
