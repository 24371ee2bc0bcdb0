"""What a NetworkPolicy does, done by hand: the local node's network enforces none.

The rule is in the pod's own network namespace, where some network plugins put theirs, and the kernel drops the packets.
"""

import contextlib
import subprocess
from collections.abc import Iterator

from tests.node import processes
from tests.wire.api import Object


@contextlib.contextmanager
def closed_to(pod: Object, client: str, port: int) -> Iterator[None]:
    """The pod drops what this address sends to its port, for the length of the block."""
    rule = ["INPUT", "--source", client, "--protocol", "tcp", "--dport", str(port), "--jump", "DROP"]
    inside = ["nsenter", f"--net=/proc/{processes.of(pod)[0]}/ns/net", "--", "iptables", "--wait"]
    subprocess.run([*inside, "--insert", *rule], check=True)
    try:
        yield
    finally:
        subprocess.run([*inside, "--delete", *rule], check=True)
