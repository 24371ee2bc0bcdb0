"""The source of the tests' Prometheus, without fetching anything."""

import pathlib
from collections.abc import Callable

import pytest
from hack.cluster.errors import ClusterError

from tests import prometheus as package


@pytest.fixture(autouse=True)
def bare(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with no programs and an empty cache."""
    monkeypatch.setenv("SPECDEC_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))


def _program(path: pathlib.Path) -> pathlib.Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


PROGRAMS = pytest.mark.parametrize(("name", "ensure"), [("prometheus", package.ensure), ("promtool", package.promtool)])


@PROGRAMS
def test_the_machines_own_comes_first(tmp_path: pathlib.Path, name: str, ensure: Callable[[], pathlib.Path]) -> None:
    """A user who installed one expects that one."""
    _program(tmp_path / "cache" / "prometheus" / "usr" / "bin" / name)
    own = _program(tmp_path / "bin" / name)
    assert ensure() == own


@PROGRAMS
def test_what_was_fetched_once_is_not_fetched_again(
    tmp_path: pathlib.Path, name: str, ensure: Callable[[], pathlib.Path]
) -> None:
    """Here nothing could be."""
    cached = _program(tmp_path / "cache" / "prometheus" / "usr" / "bin" / name)
    assert ensure() == cached


@PROGRAMS
def test_without_the_program_the_error_names_the_way_out(name: str, ensure: Callable[[], pathlib.Path]) -> None:
    """Without Debian's programs there is nothing to fetch it with."""
    with pytest.raises(ClusterError, match=rf"no program `{name}` on PATH.*install one"):
        ensure()
