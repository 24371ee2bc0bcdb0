"""What a NetworkPolicy does, done by hand: the local node's network enforces none.

The rule is in the pod's own network namespace, where some network plugins put theirs, and the kernel drops the packets.
"""

import contextlib
import pathlib
import subprocess
from collections.abc import Iterator

from tests.wire.api import Object


def _process_of(pod: Object) -> int:
    """Any process of a pod, by the cgroup that the kubelet made for it."""
    wanted = f"pod{pod['metadata']['uid']}"
    for each in pathlib.Path("/proc").glob("[0-9]*/cgroup"):
        with contextlib.suppress(OSError):
            if wanted in each.read_text():
                return int(each.parent.name)
    raise LookupError(f"no process of pod {pod['metadata']['name']} on this machine")


@contextlib.contextmanager
def closed_to(pod: Object, client: str, port: int) -> Iterator[None]:
    """The pod drops what this address sends to its port, for the length of the block."""
    rule = ["INPUT", "--source", client, "--protocol", "tcp", "--dport", str(port), "--jump", "DROP"]
    inside = ["nsenter", f"--net=/proc/{_process_of(pod)}/ns/net", "--", "iptables", "--wait"]
    subprocess.run([*inside, "--insert", *rule], check=True)
    try:
        yield
    finally:
        subprocess.run([*inside, "--delete", *rule], check=True)
