"""Programs that take many minutes to build: `make gitops` builds them, `make test-all` runs those that are built."""

import pathlib

import pytest
from hack.cluster.binaries import Module
from hack.gitops import programs


def needed(module: Module, name: str) -> pathlib.Path:
    """The program. If it is not built, skips the test with a message."""
    if not (module.folder() / name).exists():
        pytest.skip(f"{name} is not built yet: `make gitops` builds it, in minutes, and runs this test")
    return programs.ensure(module, name)
