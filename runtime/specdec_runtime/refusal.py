"""How a start is refused: one JSON line for the operator, one sentence for people, one exit code.

It never decides what is wrong; preflight and flags do.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path

# sysexits.h EX_CONFIG: vLLM itself never exits with it, so the operator can tell the two apart.
EXIT_CODE = 78
TERMINATION_LOG = Path("/dev/termination-log")
# The kubelet keeps the last 4096 bytes of the file; a longer line would reach the operator as broken JSON.
_LINE_LIMIT = 4095


@dataclass(frozen=True, kw_only=True, slots=True)
class Refusal:
    """A start that must not happen, with everything that a user needs to change it."""

    reason: str
    field: str
    message: str

    def line(self) -> str:
        """Return the one JSON line that goes into the termination log."""
        message, cut = self.message, ""
        while True:
            answer = {"reason": self.reason, "field": self.field, "message": message + cut}
            line = json.dumps(answer, ensure_ascii=False)
            excess = len(line.encode()) - _LINE_LIMIT
            if excess <= 0 or not message:
                return line
            # A character takes up to four bytes; cutting too little only costs another turn.
            message, cut = message[: -max(1, excess // 4)], "…"


class RefusedError(Exception):
    """Carries a refusal from where it is found to where it is said."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.message)
        self.refusal = refusal


def report(refusal: Refusal, log: Path = TERMINATION_LOG) -> int:
    """Say the refusal to people and to the operator, and return the exit code."""
    print(f"specdec: refused to start: {refusal.reason}: {refusal.message}", file=sys.stderr, flush=True)
    try:
        log.write_text(refusal.line() + "\n", encoding="utf-8")
    except OSError as error:
        # Outside a pod there is no termination log; the sentence above has been said either way.
        print(f"specdec: {log} cannot be written: {error}", file=sys.stderr, flush=True)
    return EXIT_CODE
