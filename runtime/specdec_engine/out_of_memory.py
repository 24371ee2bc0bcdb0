"""Messages of an engine that ran out of memory, or found less of it free than it was set to take."""

from __future__ import annotations

import re
from typing import Final

OUT_OF_MEMORY: Final = "OutOfMemory"
"""The reason of such an end, in the runtime's termination message and in the status."""
_WORDS: Final = re.compile(
    r"out of memory"  # CUDA, NPU, HIP, NCCL, and PyTorch for all of them
    r"|OutOfMemoryError"
    r"|CUBLAS_STATUS_ALLOC_FAILED"
    r"|std::bad_alloc"
    r"|\bMemoryError\b"
    r"|\bEL0004\b|\bEI0007\b|Memory resources are exhausted"  # CANN, for its runtime and its collective library
    r"|\b(?:error ?code|retCode|ret)(?: is|[=:]) ?(?:207001|207018)\b"  # ACL: allocation failed, no memory left"
    r"|can't allocate memory"  # PyTorch on CPUs
    r"|Cannot allocate memory"  # errno ENOMEM
    r"|is less than desired [GC]PU memory utilization"  # vLLM before it loads: other processes have the rest
    r"|is less than requested memory for kv",  # vLLM on CPUs, before it makes its cache
    re.IGNORECASE,
)
_GUESS: Final = re.compile(r"it was killed or ran out of memory|as one does that is killed or out of memory")
"""The runtime's own message if it does not know why a process ended; the second is that of releases up to this one."""


def ran_out(words: str) -> bool:
    """Whether a termination message reports too little memory, so that the next start must request less of it.

    A cache that is too small for one request is the opposite: with less memory it would be smaller still.
    """
    return _WORDS.search(_GUESS.sub("", words)) is not None
