"""Makes one sentence of an exception, without the frame that pydantic, PyTorch and argparse put around their
message.
"""

from __future__ import annotations

import re
import traceback

LIMIT = 1000
"""Characters of a sentence."""
_FRAME = re.compile(
    r"^\d+ validation errors? for .*$"  # pydantic's heading
    r"|\s*\[type=.*"  # and its note on the input, which prints the whole configuration
    r"|^\s*For further information visit .*$"
    r"|^\s*Value error, ",
    re.MULTILINE,
)
_CPP_STACK = re.compile(r"\n(?:Exception raised from |C\+\+ CapturedTraceback|frame #0).*", re.DOTALL)


def of(error: BaseException) -> str:
    """Return an exception's kind and message; for a ValidationError the message alone."""
    if isinstance(error, SystemExit):
        return _refused_flags(error)
    message = tidy(str(error))
    kind = type(error).__name__
    return message if kind == "ValidationError" and message else f"{kind}: {message}".removesuffix(": ")


def tidy(text: str) -> str:
    """Return a text as one line of limited length."""
    kept = _FRAME.sub("", _CPP_STACK.sub("", text))
    line = " ".join(kept.split())
    return line if len(line) <= LIMIT else f"{line[:LIMIT]}…"


def _refused_flags(error: SystemExit) -> str:
    """Return what argparse printed before it exited: it keeps the message in the frame that raised."""
    for frame, _ in traceback.walk_tb(error.__traceback__):
        if frame.f_code.co_name == "error" and isinstance(message := frame.f_locals.get("message"), str):
            return tidy(message)
    return f"the engine exited with code {error.code}; its log has the reason"
