"""The tiny pair that tests and the demo serve: a target that knows code and a second language, a draft that knows
code only. So a change of the traffic changes what the draft is worth, on any machine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hack.models import store

if TYPE_CHECKING:
    from pathlib import Path


def ensure() -> Path:
    """Return the folder of the trained pair; train it where it is missing."""
    return store.ensure()
