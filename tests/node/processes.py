"""The processes of a pod on this machine, by the cgroup that the kubelet made for it."""

import contextlib
import os
import pathlib
import signal
from collections.abc import Iterator

from tests.wire.api import Object


def of(pod: Object) -> list[int]:
    """All of them. Raises LookupError where there is none."""
    wanted, found = f"pod{pod['metadata']['uid']}", []
    for each in pathlib.Path("/proc").glob("[0-9]*/cgroup"):
        with contextlib.suppress(OSError):
            if wanted in each.read_text():
                found.append(int(each.parent.name))
    if not found:
        raise LookupError(f"no process of pod {pod['metadata']['name']} on this machine")
    return found


@contextlib.contextmanager
def suspended(pod: Object) -> Iterator[None]:
    """The pod takes connections and answers nothing, for the length of the block: only the kernel works for it."""
    processes = of(pod)
    _send(processes, signal.SIGSTOP)
    try:
        yield
    finally:
        _send(processes, signal.SIGCONT)


def _send(processes: list[int], number: signal.Signals) -> None:
    for each in processes:
        with contextlib.suppress(ProcessLookupError):
            os.kill(each, number)
