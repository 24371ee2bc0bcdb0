"""The programs that take many minutes to build: `make gitops` builds them, and `make test-all` runs what is there."""

import pathlib

import pytest
from hack.cluster.binaries import Module
from hack.gitops import programs


def needed(module: Module, name: str) -> pathlib.Path:
    """The program; skips the test, and says so, where it was not built."""
    if not (module.folder() / name).exists():
        pytest.skip(f"{name} is not built yet: `make gitops` builds it, in minutes, and runs this test")
    return programs.ensure(module, name)
