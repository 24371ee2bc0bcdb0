"""Gives memory back to the system: glibc's heap only shrinks from its end, and large answers lie in the middle of it.

Measured with 300 services after the start, when each object of the cluster has been listed once: 26 MB instead of 89.
With 1,000 services, watched for three minutes, 8 of 162 MB more were free in the middle of the heap.
"""

import asyncio
import ctypes
from typing import Final

_M_TRIM_THRESHOLD: Final = -1
_M_MMAP_THRESHOLD: Final = -3
_M_ARENA_MAX: Final = -8
_EVERY: Final = 60.0
_LARGE: Final = 64 * 1024
"""Bytes from which on a piece of memory is its own, and goes when it is freed."""


def give_back() -> None:
    """Sets glibc so for this process; where another C library runs, nothing is done."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        for option, value in ((_M_MMAP_THRESHOLD, _LARGE), (_M_TRIM_THRESHOLD, 2 * _LARGE), (_M_ARENA_MAX, 2)):
            mallopt(option, value)


async def keep_small() -> None:
    """Gives back what is free in the middle of the heap, each minute; ends at once where another C library runs."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    while trim is not None:
        await asyncio.sleep(_EVERY)
        trim(0)
