"""How the engine's container ends when it has something to say; its words are the termination message."""

from __future__ import annotations

from typing import Final

REFUSED: Final = 78
"""sysexits.h EX_CONFIG, the preflight's: vLLM itself never exits with it, so the operator can tell the two apart."""
DIED: Final = 70
"""sysexits.h EX_SOFTWARE: the engine died while it served."""
