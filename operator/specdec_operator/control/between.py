"""A turn that only adds a reading to a window that is open: nothing woke the loop, and nothing else is due.

Most turns are of this kind, and planning, rendering and telling anew what has not changed would be most of their cost.
"""

from collections.abc import Callable, Iterable

from specdec_operator.control.memory import Memory
from specdec_operator.control.watch import Reader, look
from specdec_operator.guard.watching import Rhythm
from specdec_operator.serving.pods import PodView


async def only_read(
    memory: Memory, reader: Reader, pods: Iterable[PodView], namespace: str, clock: Callable[[], float]
) -> float | None:
    """Reads the pods; returns the seconds until the next turn. None: a whole one is due, and nothing was done."""
    between, watched, now = memory.between, memory.watched, clock()
    if between is None or watched is None or now >= between.until:
        return None
    guard = between.guard
    if watched.closes(Rhythm(interval=guard.interval, window=guard.window), now):
        return None
    ready = tuple(pod for pod in pods if pod.ready and not pod.deleting and pod.revision == between.revision)
    await look(memory, reader, ready, namespace=namespace, guard=guard, limits=between.limits, now=now)
    return max(0.0, min(memory.watched.due if memory.watched else now, between.until) - clock())
