"""What the stories take when nothing is at fault: the operator's writes in order, and the histories they leave.

test_kills.py compares the writes with a recorded run: who adds a write to the operator adds it here.
"""

from typing import Final

_ROLL_OUT: Final = (
    "status RollingOut (4 tokens)",
    "InferenceService (4 tokens)",
    "Event RollingOut",
    "status WarmingUp (4 tokens)",
    "Event WarmingUp",
    "status Watching (4 tokens)",
    "Event Watching",
)
_TAKE_OUT: Final = (
    "status Responding (plain)",
    "InferenceService (plain)",
    "Event RollingBack",
    "status RolledBack (plain)",
    "Event RolledBack",
)
ROLLBACK: Final = (*_ROLL_OUT, "status Watching (4 tokens, a window failed)", *_TAKE_OUT)
RETRY: Final = _ROLL_OUT
LADDER: Final = (
    *_ROLL_OUT,
    "status Watching (4 tokens, a window failed)",
    "status Responding (2 tokens)",
    "InferenceService (2 tokens)",
    "Event ReducingTokens",
    "status WarmingUp (2 tokens)",
    "Event WarmingUp",
    "status Watching (2 tokens)",
    "Event Watching",
    "status Watching (2 tokens, a window failed)",
    *_TAKE_OUT,
)
ROLLED_BACK: Final = ["RolledBack", "Responding", "Watching", "WarmingUp", "RollingOut"]
RETRIED: Final = ["Watching", "WarmingUp", "RollingOut", *ROLLED_BACK]
REDUCED: Final = [
    "RolledBack",
    "Responding",
    "Watching",
    "WarmingUp",
    "Responding",
    "Watching",
    "WarmingUp",
    "RollingOut",
]
"""The histories, newest first."""
