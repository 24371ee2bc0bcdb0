"""What the operator's process loads of the Kubernetes client."""

import subprocess
import sys

_LOOK = """
import sys
from specdec_operator.process.memory import load_asyncio_only
load_asyncio_only()
import specdec_operator.app.main
print(*sys.modules)
"""


def _loaded() -> set[str]:
    done = subprocess.run([sys.executable, "-c", _LOOK], check=True, capture_output=True, text=True)
    return set(done.stdout.split())


def test_the_other_tree_and_what_it_brings_are_left_out() -> None:
    """They would take a tenth of the memory that a process has before its first service."""
    found = _loaded()
    assert {"kopf", "kubernetes.aio.client", "kubernetes.aio.dynamic", "kubernetes.aio.config"} <= found
    assert not {"requests", "oauthlib", "websocket", "kubernetes.config", "kubernetes.watch"} & found
