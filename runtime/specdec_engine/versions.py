"""Which releases of vLLM this release of the project was made for."""

from __future__ import annotations

import re
from typing import Final

MajorMinor = tuple[int, int]
OLDEST: Final[MajorMinor] = (0, 11)
"""The oldest vLLM that the tables and rules know."""
NEWEST: Final[MajorMinor] = (0, 33)
"""The newest vLLM that the tables and rules were read for: of a newer one, nothing is known to be missing."""


def major_minor(text: str) -> MajorMinor | None:
    """Major and minor of a version such as `0.32.0+cpu` or `v0.20.0-rc0`; None for what is none, such as `latest`."""
    found = re.match(r"v?(\d+)\.(\d+)", text)
    return (int(found[1]), int(found[2])) if found else None
