"""Exit codes with which the engine's container ends on a known cause; the termination message describes the cause."""

from __future__ import annotations

from typing import Final

REFUSED: Final = 78
"""sysexits.h EX_CONFIG, the preflight's: vLLM itself never exits with it, so the operator can distinguish the two."""
DIED: Final = 70
"""sysexits.h EX_SOFTWARE: the engine died while it served."""
