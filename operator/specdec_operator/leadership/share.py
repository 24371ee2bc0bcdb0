"""Which services are this process's, and whether it may write about them now."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """The services of some namespaces.

    owns: whether those of a namespace are this process's. may_write: whether it may write about them now, asked before
    each write. changed: set when `owns` answers otherwise than before.
    """

    owns: Callable[[str], bool]
    may_write: Callable[[str], bool]
    changed: asyncio.Event = field(default_factory=asyncio.Event)


def all_services(may_write: Callable[[], bool] = lambda: True) -> Share:
    """Every service there is. may_write: whether this process leads."""
    return Share(owns=lambda _: True, may_write=lambda _: may_write())
