"""A plugin of pytest: SIGTERM interrupts it as Ctrl-C does, so that it shows what failed and writes its report.

SIGINT itself would not do: what a shell started in the background ignores it, and so do its children.
"""

import signal

import pytest


def pytest_configure(config: pytest.Config) -> None:
    """Workers of xdist end by SIGTERM as any process does."""
    if not hasattr(config, "workerinput"):
        signal.signal(signal.SIGTERM, signal.default_int_handler)
